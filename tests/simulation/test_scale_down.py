"""The order of writes when a job is scaled down, also when who writes dies in between.

Whoever reads svc's ConfigMap must never find a host whose pod was deleted for the new number of replicas.
"""

import asyncio
from typing import Any

import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.model.api.kinds import CONFIGMAPS, JOBS, PODS, Kind
from vc.simcluster.cluster import StoreCluster

SERVICES = (*CORE, "plugin-svc")
BEFORE, AFTER = 4, 2


class OrderedCluster(StoreCluster):
    """At each deletion of a pod: how many hosts the ConfigMap lists then."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack.api)
        self._stack = stack
        self.deletions: list[tuple[str, str]] = []

    async def delete(self, kind: Kind, **others: Any) -> None:
        await super().delete(kind, **others)
        if kind is PODS:
            self.deletions.append((others["name"], hosts(self._stack)["VC_WORKER_NUM"]))


def hosts(stack: Stack) -> dict[str, str]:
    resource = stack.api.registry.for_kind(CONFIGMAPS)
    data: dict[str, str] = stack.api.get(resource, name="a-svc", namespace="default")["data"]
    return data


async def scale_down(stack: Stack, cluster: OrderedCluster) -> dict[str, int]:
    """Gives how many calls each service had made before."""
    job = gang_job("a", replicas=BEFORE, min_available=1, run_seconds=6000, plugins={"svc": []})
    await stack.submit(job)
    await stack.until(
        lambda: stack.job("a").status.running == BEFORE, seconds=120, what="all pods run"
    )
    calls = {name: len(lives[0].points) for name, lives in stack.lives.items()}
    tasks = gang_job("a", replicas=AFTER, min_available=1, run_seconds=6000)["spec"]["tasks"]
    await cluster.patch(JOBS, {"spec": {"tasks": tasks}}, name="a", namespace="default")
    await stack.until(lambda: len(stack.pods()) == AFTER, seconds=240, what="scaled down")
    await asyncio.sleep(1)
    assert [name for name, _ in cluster.deletions] == ["a-worker-2", "a-worker-3"]
    assert {listed for _, listed in cluster.deletions} == {str(AFTER)}
    assert sorted(pod.metadata.name for pod in stack.pods()) == ["a-worker-0", "a-worker-1"]
    assert stack.problems == []
    return calls


def run(die_at: tuple[str, int] | None = None) -> dict[str, range]:
    """Which calls of each service's first life came after the change of the spec."""

    async def main() -> dict[str, range]:
        stack = Stack(services=SERVICES, die_at=die_at)
        cluster = stack.cluster = OrderedCluster(stack)
        async with stack:
            before = await scale_down(stack, cluster)
            lives = stack.lives
            return {name: range(before[name], len(lives[name][0].points)) for name in lives}

    return run_virtual(main())


def test_hosts_are_taken_off_the_list_before_their_pods_are_deleted() -> None:
    run()


@pytest.mark.parametrize("service", ["job-controller", "plugin-svc"])
@pytest.mark.timeout(600)
def test_the_order_holds_when_a_service_dies_at_any_call(service: str) -> None:
    points = run()[service]
    assert len(points) > 2
    for number in points:
        run((service, number))


def test_pods_stay_while_the_plugin_is_down_and_go_when_it_is_back() -> None:
    async def main() -> None:
        stack = Stack(services=SERVICES)
        cluster = stack.cluster = OrderedCluster(stack)
        async with stack:
            job = gang_job("a", replicas=4, min_available=1, run_seconds=6000, plugins={"svc": []})
            await stack.submit(job)
            await stack.until(
                lambda: stack.job("a").status.running == BEFORE, seconds=120, what="all pods run"
            )
            stack.pause("plugin-svc")
            tasks = gang_job("a", replicas=AFTER, run_seconds=6000)["spec"]["tasks"]
            await cluster.patch(JOBS, {"spec": {"tasks": tasks}}, name="a", namespace="default")
            await stack.until(
                lambda: stack.job("a").status.state.reason == "PluginPending",
                seconds=30,
                what="the job says what it waits for",
            )
            assert len(stack.pods()) == BEFORE
            stack.resume("plugin-svc")
            await stack.until(lambda: len(stack.pods()) == AFTER, seconds=60, what="scaled down")
            assert {listed for _, listed in cluster.deletions} == {str(AFTER)}

    run_virtual(main())
