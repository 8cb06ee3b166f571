"""Plugins that are away, and job-controllers in numbers: who waits, who goes on, who takes over.

Effects are counted where they arrive: a pod or pod group that was made twice would be a second
create that the API server took.
"""

from collections import Counter

import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.messages.topics import PLUGINS

REPLICAS = ("job-controller", "job-controller@2")
JOBS_COUNT = 12
PODS_EACH = 3
TAKEN_OVER_SECONDS = 15
"""Within so long the jobs of a replica that died go on."""

DOWN_SECONDS = 60
ARGUMENTS = {"mpi": ["--master=worker"], "pytorch": ["--master=worker"], "ray": ["--head=worker", "--headContainer=main"]}  # fmt: skip
"""For the plugins that cannot do without a task of some name."""


def completed(stack: Stack, *names: str) -> bool:
    return all(stack.job(name).status.state.phase == "Completed" for name in names)


def writes(stack: Stack, *services: str) -> Counter[str]:
    """Calls that the API server took, by verb."""
    lives = [life for name in services for life in stack.lives[name]]
    points = [p for life in lives for p in life.points if p.startswith("after cluster.")]
    return Counter(point.removeprefix("after cluster.") for point in points)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_that_is_down_holds_up_only_its_own_jobs(plugin: str) -> None:
    service = f"plugin-{plugin}"
    services = dict.fromkeys((*CORE, *(f"plugin-{name}" for name in PLUGINS)))
    other = "svc" if plugin != "svc" else "env"

    async def main() -> None:
        async with Stack(services=services) as stack:
            await stack.clock.sleep(5)
            stack.pause(service)
            mine = {plugin: ARGUMENTS.get(plugin, [])}
            await stack.submit(gang_job("mine", replicas=2, run_seconds=2, plugins=mine))
            await stack.submit(gang_job("other", replicas=2, run_seconds=2, plugins={other: []}))
            await stack.submit(gang_job("plain", replicas=2, run_seconds=2, plugins={}))
            await stack.until(lambda: completed(stack, "other", "plain"), seconds=30, what="others")
            await stack.clock.sleep(DOWN_SECONDS)
            state = stack.job("mine").status.state
            assert (state.phase, state.reason) == ("Pending", "PluginPending")
            assert state.message == f"no answer yet from plugin {plugin}"
            assert [p.metadata.name for p in stack.pods() if "mine" in p.metadata.name] == []
            stack.resume(service)
            await stack.until(lambda: completed(stack, "mine"), seconds=30, what="mine")
            assert set(stack.created.values()) == {1}
            assert stack.problems == []

    run_virtual(main())


def test_two_replicas_share_the_jobs_and_do_everything_once() -> None:
    async def main() -> None:
        async with Stack(services=(*CORE, REPLICAS[1])) as stack:
            await stack.clock.sleep(5)
            names = [f"job-{number}" for number in range(JOBS_COUNT)]
            for name in names:
                await stack.submit(gang_job(name, replicas=PODS_EACH, run_seconds=3))
            await stack.until(lambda: completed(stack, *names), seconds=120, what="all completed")
            assert set(stack.created.values()) == {1}
            assert stack.created.total() == JOBS_COUNT * PODS_EACH
            shares = [writes(stack, replica)["create"] for replica in REPLICAS]
            assert sum(shares) == JOBS_COUNT * (PODS_EACH + 1)  # pods and pod groups
            assert min(shares) > 0
            assert stack.problems == []

    run_virtual(main())


@pytest.mark.parametrize("after_seconds", [0.0, 0.3, 1.0, 4.0])
def test_the_jobs_of_a_replica_that_dies_move_to_the_other(after_seconds: float) -> None:
    async def main() -> None:
        async with Stack(services=(*CORE, REPLICAS[1]), seed=int(after_seconds * 10)) as stack:
            await stack.clock.sleep(5)
            names = [f"job-{number}" for number in range(JOBS_COUNT)]
            for name in names:
                await stack.submit(gang_job(name, replicas=PODS_EACH, run_seconds=3))
            await stack.clock.sleep(after_seconds)
            stack.pause(REPLICAS[0])
            await stack.until(
                lambda: completed(stack, *names),
                seconds=TAKEN_OVER_SECONDS + after_seconds,
                what="all completed by one",
            )
            assert set(stack.created.values()) == {1}
            assert stack.created.total() == JOBS_COUNT * PODS_EACH
            assert all(stack.job(name).status.retry_count == 0 for name in names)
            stack.resume(REPLICAS[0])
            await stack.submit(gang_job("after", replicas=2, run_seconds=1))
            await stack.until(lambda: completed(stack, "after"), seconds=30, what="and it is back")
            assert stack.problems == []

    run_virtual(main())
