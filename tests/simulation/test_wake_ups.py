"""A preemptor whose victims are refused is served as soon as nothing refuses them, without other news."""

from typing import Final

from tests.simulation.stack import Stack, gang_job
from tests.simulation.test_gangs import bound
from vc.clock import run_virtual
from vc.model.api.kinds import BUDGETS, PRIORITYCLASSES
from vc.model.api.struct import ResourceList
from vc.simcluster.kubelet.node_pools import NodePool

SOON_SECONDS: Final = 2.0
CAPACITY: Final[ResourceList] = {"cpu": "8", "memory": "64Gi", "pods": "110"}
ONE_NODE: Final = (NodePool(count=1, name_prefix="n-", capacity=CAPACITY),)


async def protected_and_preemptor(stack: Stack) -> None:
    """A job of low priority fills the node, a budget protects it, and one of high priority waits."""
    for name, value in (("low", 1), ("high", 100)):
        body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value}
        await stack.cluster.create(PRIORITYCLASSES, {**body, "metadata": {"name": name}})
    low = gang_job("low", replicas=2, cpu="4", run_seconds=9999)
    low["spec"]["priorityClassName"] = "low"
    await stack.submit(low)
    await stack.until(lambda: running(stack, "low"), seconds=30, what="low runs")
    selector = {"matchLabels": {"volcano.sh/job-name": "low"}}
    await stack.cluster.create(
        BUDGETS,
        {
            "apiVersion": BUDGETS.api_version,
            "kind": BUDGETS.kind,
            "metadata": {"name": "keep", "namespace": "default"},
            "spec": {"maxUnavailable": 0, "selector": selector},
        },
        namespace="default",
    )
    high = gang_job("high", replicas=2, cpu="4", run_seconds=9999)
    high["spec"]["priorityClassName"] = "high"
    await stack.submit(high)


def running(stack: Stack, name: str) -> bool:
    """Budgets count pods that are ready."""
    return stack.job(name).status.state.phase == "Running" and stack.job(name).status.running == 2


def leaving(stack: Stack) -> int:
    return sum(bool(pod.metadata.deletion_timestamp) for pod in stack.pods())


def test_a_preemptor_starts_as_soon_as_the_budget_of_its_victims_is_deleted() -> None:
    async def main() -> None:
        async with Stack(pools=ONE_NODE) as stack:
            await protected_and_preemptor(stack)
            await stack.clock.sleep(20)
            assert leaving(stack) == 0
            assert bound(stack, "low") == 2
            await stack.cluster.delete(BUDGETS, name="keep", namespace="default")
            await stack.until(
                lambda: leaving(stack) > 0 or bound(stack, "high") == 2,
                seconds=SOON_SECONDS,
                what="victims leave",
            )
            await stack.until(lambda: bound(stack, "high") == 2, seconds=60, what="high runs")
            assert stack.problems == []

    run_virtual(main())
