"""The webhooks on a real kube-apiserver: registered with their authority, asked, absent, back."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.builders.contexts import memory_context
from tests.integration.parts.require import require
from tests.unit.admission.objects import job, queue, task, template
from vc.admission.config import Config
from vc.admission.service import build
from vc.clock import LoopClock
from vc.cluster.kubernetes import connect
from vc.model.api.struct import JsonObject
from vc.parts import ControlPlane, obtain
from vc.simcluster.schema.registry import crd_folder
from vc.validation.world import Settings

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(240)]

KUBECTL_SECONDS_MAX = 60.0
READY_SECONDS_MAX = 30.0


async def kubectl(
    plane: ControlPlane, *arguments: str, documents: list[JsonObject] | None = None
) -> subprocess.CompletedProcess[str]:
    """The outcome, good or bad; documents go to standard input as one list."""
    listed = {"apiVersion": "v1", "kind": "List", "items": documents or []}
    return await asyncio.to_thread(
        subprocess.run,
        [str(obtain("kubectl").path), "--kubeconfig", str(plane.kubeconfig), *arguments],
        input=json.dumps(listed),
        capture_output=True,
        text=True,
        timeout=KUBECTL_SECONDS_MAX,
        check=False,
    )


async def apply(plane: ControlPlane, *documents: JsonObject) -> subprocess.CompletedProcess[str]:
    return await kubectl(plane, "create", "-f", "-", documents=list(documents))


@asynccontextmanager
async def admission(plane: ControlPlane) -> AsyncIterator[None]:
    clock = LoopClock()
    cluster = await connect(service="admission", kubeconfig=str(plane.kubeconfig), clock=clock)
    context = memory_context("admission", clock=clock, cluster=cluster)
    settings = Settings(accounts=(OURS,))
    service = build(context, Config(port=0, create_configurations=True, settings=settings))
    running = asyncio.create_task(service.run())
    try:
        async with asyncio.timeout(READY_SECONDS_MAX):
            while service.unready():  # noqa: ASYNC110 - a service has no event to wait for
                await asyncio.sleep(0.05)
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await cluster.close()


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}


def bare_pod(scheduler: str, name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "ml", "annotations": {"volcano.sh/jdb-min-available": "0"},
        },
        "spec": {"schedulerName": scheduler, "containers": [{"name": "c", "image": "i"}]},
    }  # fmt: skip


async def eventually_created(plane: ControlPlane, document: JsonObject) -> None:
    """API servers take a moment to learn of a webhook or its authority."""
    async with asyncio.timeout(READY_SECONDS_MAX):
        while (done := await apply(plane, document)).returncode:
            assert "failed calling webhook" in done.stderr or "not found" in done.stderr, (
                done.stderr
            )
            await asyncio.sleep(0.3)


async def test_a_real_api_server_asks_us() -> None:
    require("kubernetes", "kubectl", own=True)
    async with ControlPlane() as plane:
        crds = Path(str(crd_folder()))
        done = await kubectl(plane, "create", "-f", str(crds))
        assert done.returncode == 0, done.stderr
        await kubectl(plane, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        async with admission(plane):
            await eventually_created(plane, queue("default"))
            await asks_and_answers(plane)
            await is_scaled_by_its_file(plane)
            await tenants_write_no_status(plane)
        await absent(plane)
        async with admission(plane):
            await eventually_created(plane, job("back", queue="child"))


OURS = "system:serviceaccount:volcano-system:volcano-scheduler"


def role(name: str, users: list[str], *rules: tuple[str, str, list[str]]) -> list[JsonObject]:
    """A ClusterRole and who has it."""
    api = "rbac.authorization.k8s.io"
    said = [{"apiGroups": [g], "resources": [r], "verbs": verbs} for g, r, verbs in rules]
    return [
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": said},
        {"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
         "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
         "subjects": [{"apiGroup": api, "kind": "User", "name": user} for user in users]},
    ]  # fmt: skip


async def tenants_write_no_status(plane: ControlPlane) -> None:
    """Users of a real server: what a tenant writes of status is put back, and queues are not hers to close."""
    every = ["get", "list", "create", "update", "patch"]
    tenant = role("tenant", ["alice", "boss", OURS], ("scheduling.volcano.sh", "podgroups", every),
                  ("bus.volcano.sh", "commands", every))  # fmt: skip
    boss = role("boss", ["boss"], ("scheduling.volcano.sh", "queues", ["get", "update"]))
    group: JsonObject = {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ml"},
        "spec": {"minMember": 1, "queue": "default"}, "status": {"phase": "Inqueue"},
    }  # fmt: skip
    done = await apply(plane, *tenant, *boss)
    assert done.returncode == 0, done.stderr
    alice, ours = ("--as", "alice"), ("--as", OURS)
    done = await kubectl(plane, *alice, "create", "-f", "-", documents=[group])
    assert done.returncode == 0, done.stderr
    patch = ("patch", "podgroup", "g", "-n", "ml", "--type", "merge", "-p")
    where = ("get", "podgroup", "g", "-n", "ml", "-o", "jsonpath={.status.phase}")
    assert (await kubectl(plane, *where)).stdout == ""
    done = await kubectl(plane, *ours, *patch, '{"status":{"phase":"Pending"}}')
    assert done.returncode == 0, done.stderr
    done = await kubectl(
        plane, *alice, *patch, '{"spec":{"minMember":2},"status":{"phase":"Running"}}'
    )
    assert done.returncode == 0, done.stderr
    assert (await kubectl(plane, *where)).stdout == "Pending"
    critical = '{"spec":{"priorityClassName":"system-cluster-critical"}}'
    done = await kubectl(plane, *alice, *patch, critical)
    assert "classes system-* are for the system's namespaces" in done.stderr
    order: JsonObject = {
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
        "metadata": {"name": "c", "namespace": "ml"}, "action": "CloseQueue",
        "target": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "default",
                   "uid": "u"},
    }  # fmt: skip
    done = await kubectl(plane, *alice, "create", "-f", "-", documents=[order])
    assert "'alice' may not update this queue" in done.stderr
    done = await kubectl(plane, "--as", "boss", "create", "-f", "-", documents=[order])
    assert done.returncode == 0, done.stderr


async def asks_and_answers(plane: ControlPlane) -> None:
    written = job("train", queue="child", minAvailable=0, plugins={"pytorch": []},
                  tasks=[task("master", 1), task("worker", 2)])  # fmt: skip
    done = await apply(plane, NAMESPACE, queue("dept"), queue("child", parent="dept"), written)
    assert done.returncode == 0, done.stderr
    assert "Warning: spec.tasks[0].policies: the pytorch master has no TaskCompleted" in done.stderr
    made = json.loads(
        (await kubectl(plane, "get", "vcjob", "train", "-n", "ml", "-o", "json")).stdout
    )
    assert made["spec"]["minAvailable"] == 3
    assert made["spec"]["plugins"] == {"pytorch": [], "svc": []}
    for document, message in (
        (job("bad", minAvailable=9), "spec.minAvailable: 9: is more than the 2 replicas"),
        (queue("bad", parent="ghost"), 'spec.parent: "ghost": there is no such queue'),
        (bare_pod("volcano", "bad"), "must be a positive number or a percentage"),
        (
            {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow",
             "metadata": {"name": "f", "namespace": "ml"},
             "spec": {"flows": [{"name": "a", "dependsOn": {"targets": ["x"]}}]}},
            "flow 'a' waits for a flow that is not in this JobFlow",
        ),
    ):  # fmt: skip
        done = await apply(plane, document)
        assert done.returncode != 0
        assert "denied the request" in done.stderr, done.stderr
        assert message in done.stderr
    assert (await apply(plane, bare_pod("default-scheduler", "other"))).returncode == 0
    patched = await kubectl(
        plane,
        "patch",
        "vcjob",
        "train",
        "-n",
        "ml",
        "--type=merge",
        "-p",
        '{"spec":{"queue":"dept"}}',
    )
    assert "spec.queue" in patched.stderr
    assert "may not be changed on a job" in patched.stderr
    deleted = await kubectl(plane, "delete", "queue", "dept", "--wait=false")
    assert "delete first: child" in deleted.stderr


async def is_scaled_by_its_file(plane: ControlPlane) -> None:
    """`kubectl apply` sends the file's list of tasks, without what was filled in at first."""
    for replicas in (2, 5):
        written = job("scaled", tasks=[{"replicas": replicas, "template": template()}])
        done = await kubectl(plane, "apply", "-f", "-", documents=[written])
        assert done.returncode == 0, done.stderr
    found = await kubectl(plane, "get", "vcjob", "scaled", "-n", "ml", "-o", "json")
    (made,) = json.loads(found.stdout)["spec"]["tasks"]
    shown = {name: made[name] for name in ("name", "replicas", "minAvailable", "maxRetry")}
    assert shown == {"name": "default0", "replicas": 5, "minAvailable": 5, "maxRetry": 3}


async def absent(plane: ControlPlane) -> None:
    """Pods go through; Jobs and Queues wait for us."""
    assert (await apply(plane, bare_pod("volcano", "unasked"))).returncode == 0
    for document in (job("refused", queue="child"), queue("refused")):
        done = await apply(plane, document)
        assert done.returncode != 0
        assert "failed calling webhook" in done.stderr, done.stderr
