"""What this release does not support waits, on the whole stack: nothing runs as if it had not been asked for."""

from typing import Any

import msgspec
import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.scheduling import PodGroup
from vc.model.api.struct import JsonObject

SECONDS = 60.0
HARD = {"mode": "hard", "highestTierAllowed": 1}


def group(stack: Stack, name: str) -> PodGroup:
    found = stack.api.list(stack.api.registry.for_kind(PODGROUPS)).items

    groups = [msgspec.json.decode(item, type=PodGroup) for item in found]
    return next(known for known in groups if name in known.metadata.name)


def reasons(stack: Stack, name: str) -> list[str]:
    return [c.reason for c in group(stack, name).status.conditions if c.status == "True"]


def asking(
    spec: JsonObject | None = None, pod: JsonObject | None = None, **task: Any
) -> JsonObject:
    made = gang_job("asking", replicas=2, run_seconds=5)
    made["spec"] |= spec or {}
    made["spec"]["tasks"][0] |= task
    made["spec"]["tasks"][0]["template"]["spec"] |= pod or {}
    return made


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        (asking({"networkTopology": HARD}), "spec.networkTopology: mode hard is not supported"),
        (asking({"minAvailable": 1}, partitionPolicy={"totalPartitions": 2, "partitionSize": 1, "minPartitions": 1}),
         "spec.subGroupPolicy[0]: a gang of sub-groups is not supported"),
        (asking(pod={"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}), "spec.resourceClaims: dynamic"),
        (asking(pod={"schedulingGroup": {"podGroupName": "w"}}), "spec.schedulingGroup: gangs of Kubernetes'"),
        (asking(topologyPolicy="restricted"), "numa-topology-policy]: NUMA placement is not supported"),
    ],
    ids=["topology", "partitions", "claims", "schedulingGroup", "numa"],
)  # fmt: skip
def test_a_job_waits_with_the_condition_and_others_run(manifest: JsonObject, says: str) -> None:
    async def main() -> None:
        async with Stack(services=CORE) as stack:
            await stack.submit(manifest)
            await stack.submit(gang_job("other", replicas=2, run_seconds=5))
            await stack.until(
                lambda: stack.job("other").status.state.phase == "Completed",
                seconds=SECONDS,
                what="the other job",
            )
            await stack.clock.sleep(SECONDS)
            assert reasons(stack, "asking") == ["Unsupported"]
            (condition,) = group(stack, "asking").status.conditions
            assert says in condition.message
            assert not [p for p in stack.pods() if "asking" in p.metadata.name and p.spec.node_name]
            assert stack.job("asking").status.state.phase == "Pending"
            assert stack.problems == []

    run_virtual(main())


def test_a_plain_pod_of_a_kubernetes_gang_is_never_bound_alone() -> None:
    async def main() -> None:
        async with Stack(services=(*CORE, "podgroup-controller")) as stack:
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "alone", "namespace": "default"},
                "spec": {
                    "schedulerName": "volcano",
                    "schedulingGroup": {"podGroupName": "workers"},
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
                },
            }  # fmt: skip
            await stack.cluster.create(PODS, pod, namespace="default")
            await stack.clock.sleep(SECONDS)
            (waiting,) = stack.pods()
            assert waiting.spec.node_name == ""
            assert reasons(stack, "podgroup-") == ["Unsupported"]
            assert stack.problems == []

    run_virtual(main())
