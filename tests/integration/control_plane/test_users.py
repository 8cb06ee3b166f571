"""What users do with queues, plain workloads and wrong manifests, on both sorts of API server."""

from pathlib import Path

import pytest

from tests.integration.control_plane.running import ControlPlaneUnderTest, control_plane
from tests.integration.kubectl.backends import NAMES
from tests.integration.parts.require import require
from tests.unit.admission.objects import job, queue, task
from vc.model.api.keys import GROUP_MIN_MEMBER, GROUP_NAME
from vc.model.api.struct import JsonObject

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

COLD_TIMES = 20
BACK_SECONDS_MAX = 15.0
"""Until jobs are taken again after admission came back."""

WEB = ("-l", "app=web")
NAMESPACE: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}


@pytest.mark.parametrize(
    "backend", [pytest.param(n, marks=pytest.mark.kubernetes if n != "embedded" else ()) for n in NAMES]
)  # fmt: skip
async def test_the_control_plane_as_users_meet_it(backend: str, tmp_path: Path) -> None:
    """One cluster for all of it: starting one costs more than everything that is asked here."""
    if backend == "kubernetes":
        require("kubernetes", own=True)
    async with control_plane(backend, tmp_path) as plane:
        await plane.apply(NAMESPACE)
        await webhooks_are_registered_with_their_authority(plane)
        await invalid_objects_are_refused(plane)
        await one_file_applies_cold(plane)
        await a_closed_queue_refuses_jobs_and_drains(plane)
        await a_deployment_runs_as_the_gang_it_asks_for(plane, backend)
        await without_admission_pods_are_created(plane)


async def webhooks_are_registered_with_their_authority(plane: ControlPlaneUnderTest) -> None:
    for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
        found = await plane.get(kind, "volcano-admission")
        assert found["webhooks"]
        assert all(webhook["clientConfig"]["caBundle"] for webhook in found["webhooks"])


def _object(api_version: str, kind: str, name: str, **fields: object) -> JsonObject:
    metadata = {"name": name, "namespace": "ml"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


async def invalid_objects_are_refused(plane: ControlPlaneUnderTest) -> None:
    pod = _object("v1", "Pod", "bad", spec=_pod_spec())
    pod["metadata"]["annotations"] = {"volcano.sh/jdb-min-available": "0"}
    group = _object("scheduling.volcano.sh/v1beta1", "PodGroup", "bad", spec={"queue": "ghost"})
    cron = _object(
        "batch.volcano.sh/v1alpha1", "CronJob", "bad",
        spec={"schedule": "every day", "jobTemplate": {"spec": job()["spec"]}},
    )  # fmt: skip
    flow = _object(
        "flow.volcano.sh/v1alpha1", "JobFlow", "bad",
        spec={"flows": [{"name": "a", "dependsOn": {"targets": ["x"]}}]},
    )  # fmt: skip
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}]
    hyper = _object("topology.volcano.sh/v1alpha1", "HyperNode", "bad", spec={"tier": 1, "members": members})  # fmt: skip
    del hyper["metadata"]["namespace"]
    for document, says in (
        (job("bad", minAvailable=9), "spec.minAvailable: 9: is more than the 2 replicas"),
        (job("bad", queue="ghost"), "spec.queue"),
        (queue("bad", parent="ghost"), 'spec.parent: "ghost": there is no such queue'),
        (group, "spec.queue"),
        (pod, "must be a positive number or a percentage"),
        (cron, "spec.schedule"),
        (flow, "flow 'a' waits for a flow that is not in this JobFlow"),
        (hyper, "regexMatch"),
    ):
        await plane.refused(document, says)


async def one_file_applies_cold(plane: ControlPlaneUnderTest) -> None:
    """Namespace, queue, child, PriorityClass and job of one file, none of them known before."""
    for number in range(COLD_TIMES):
        name = f"cold-{number}"
        priority = {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": 10,
        }  # fmt: skip
        wanted = job(name, queue=f"{name}-child", priorityClassName=name, tasks=[task(replicas=2)])
        wanted["metadata"]["namespace"] = name
        await plane.apply(
            {**NAMESPACE, "metadata": {"name": name}},
            queue(name, capability={"cpu": "4"}),
            queue(f"{name}-child", parent=name, capability={"cpu": "2"}),
            priority,
            wanted,
        )
    found = await plane.get("queue", f"cold-{COLD_TIMES - 1}-child")
    assert found["spec"]["parent"] == f"cold-{COLD_TIMES - 1}"
    await plane.refused(queue("too-much", parent="cold-0", capability={"cpu": "5"}), "capability")
    await plane.eventually(lambda: _bound(plane, "cold-0", 2), "the first cold job is bound")
    await _clear(plane)


async def _bound(plane: ControlPlaneUnderTest, namespace: str, count: int, *selector: str) -> bool:
    pods = (await plane.get("pods", "-n", namespace, *selector))["items"]
    return len([pod for pod in pods if pod["spec"].get("nodeName")]) == count


async def _state(plane: ControlPlaneUnderTest, name: str) -> str:
    found = await plane.get("queue", name)
    return str(((found or {}).get("status") or {}).get("state", ""))


async def a_closed_queue_refuses_jobs_and_drains(plane: ControlPlaneUnderTest) -> None:
    """By hierarchy: the child closes with its parent, and both are closed when the job is gone."""
    parent, child = queue("dept"), queue("team", parent="dept")
    await plane.apply(parent, child, job("stays", queue="team", tasks=[task(replicas=2)]))
    await plane.eventually(lambda: _bound(plane, "ml", 2), "the job of the child is bound")
    made = await plane.get("queue", "dept")
    target = {"apiVersion": made["apiVersion"], "kind": "Queue", "name": "dept"}
    command = _object(
        "bus.volcano.sh/v1alpha1", "Command", "close-dept",
        action="CloseQueue", target={**target, "uid": made["metadata"]["uid"]},
    )  # fmt: skip
    await plane.apply(command)

    async def is_closing() -> bool:
        return await _state(plane, "team") == "Closing"

    async def is_closed() -> bool:
        return [await _state(plane, name) for name in ("dept", "team")] == ["Closed", "Closed"]

    await plane.eventually(is_closing, "the child is closing")
    await plane.refused(job("late", queue="team"), "spec.queue")
    await _clear(plane)
    await plane.eventually(is_closed, "both are closed")


async def _clear(plane: ControlPlaneUnderTest) -> None:
    """Delete all jobs, and play the kubelet's part: nobody else ends their pods."""
    await plane.kubectl("delete", "vcjob", "--all", "-A")

    async def are_gone() -> bool:
        await plane.kubectl("delete", "pods", "--all", "-A", "--grace-period=0", "--force")
        await plane.kubectl("delete", "podgroups", "--all", "-A")
        return not (await plane.get("pods", "-A"))["items"]

    await plane.eventually(are_gone, "no pods are left")


def _pod_spec() -> JsonObject:
    asking = {"requests": {"cpu": "500m"}}
    return {"schedulerName": "volcano", "containers": [{"name": "c", "image": "i", "resources": asking}]}  # fmt: skip


async def a_deployment_runs_as_the_gang_it_asks_for(
    plane: ControlPlaneUnderTest, backend: str
) -> None:
    """Two of three pods wait; with the third the gang is bound whole.

    The embedded API server has no controller of Deployments: there we play its part.
    """
    template = {"metadata": {"labels": {"app": "web"}}, "spec": _pod_spec()}
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": 2, "selector": selector, "template": template}
    deployment = _object("apps/v1", "Deployment", "web", spec=spec)
    deployment["metadata"]["annotations"] = {GROUP_MIN_MEMBER: "3"}
    await plane.apply(deployment)
    if backend == "embedded":
        await _add_replicaset(plane, spec)
        for number in (0, 1):
            await _add_replica(plane, number)

    async def are_told() -> bool:
        pods = (await plane.get("pods", "-n", "ml", *WEB))["items"]
        groups = {p["metadata"].get("annotations", {}).get(GROUP_NAME) for p in pods}
        if len(pods) != 2 or len(groups) != 1 or None in groups:
            return False
        found = await plane.get("podgroup", str(groups.pop()), "-n", "ml")
        return bool(found) and found["spec"]["minMember"] == 3

    await plane.eventually(are_told, "both pods name one group of three")
    assert await _bound(plane, "ml", 0, *WEB), "two of three must wait"
    if backend == "embedded":
        await _add_replica(plane, 2)
    else:
        await plane.kubectl("scale", "deployment", "web", "-n", "ml", "--replicas=3")
    await plane.eventually(lambda: _bound(plane, "ml", 3, *WEB), "the gang is bound whole")


async def _add_replicaset(plane: ControlPlaneUnderTest, spec: JsonObject) -> None:
    """Annotations of a Deployment are copied to its ReplicaSet."""
    made = await plane.get("deployment", "web", "-n", "ml")
    replicaset = _object("apps/v1", "ReplicaSet", "web-1", spec=spec)
    replicaset["metadata"]["annotations"] = {GROUP_MIN_MEMBER: "3"}
    replicaset["metadata"]["ownerReferences"] = [_owner(made)]
    await plane.apply(replicaset)


async def _add_replica(plane: ControlPlaneUnderTest, number: int) -> None:
    owner = await plane.get("replicaset", "web-1", "-n", "ml")
    pod = _object("v1", "Pod", f"web-1-{number}", spec=_pod_spec())
    pod["metadata"] |= {"labels": {"app": "web"}, "ownerReferences": [_owner(owner)]}
    done = await plane.kubectl("create", "-f", "-", documents=[pod])
    assert done.returncode == 0, done.stderr


def _owner(made: JsonObject) -> JsonObject:
    return {
        "apiVersion": made["apiVersion"],
        "kind": made["kind"],
        "name": made["metadata"]["name"],
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def without_admission_pods_are_created(plane: ControlPlaneUnderTest) -> None:
    await plane.kill("admission")
    await plane.apply(_object("v1", "Pod", "unasked", spec=_pod_spec()))
    for document in (job("waits"), queue("waits")):
        await plane.refused(document, "failed calling webhook")
    await plane.run("admission")

    async def is_taken() -> bool:
        done = await plane.kubectl("create", "-f", "-", documents=[job("waits")])
        return done.returncode == 0

    assert await plane.eventually(is_taken, "jobs are taken again") < BACK_SECONDS_MAX
    await plane.apply(queue("waits"))
