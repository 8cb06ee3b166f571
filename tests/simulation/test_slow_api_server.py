"""An API server that is slow for a minute and then quick again: work does not grow, and nothing is rebuilt."""

from collections.abc import Iterator

import msgspec
import pytest

from tests.simulation.slow import SlowStack
from tests.simulation.stack import gang_job
from vc.clock import run_virtual
from vc.messages.facts import FENCE_KEY
from vc.messages.record import TopicPartition
from vc.messages.topics import FACTS
from vc.model.api.kinds import LEASES, WATCHED
from vc.runtime.consuming.follower import Follower

SERVICES = (
    "watcher", "job-controller", "plugin-env", "queue-controller", "podgroup-controller", "scheduler"
)  # fmt: skip
SLOW_FOR_SECONDS = 60
BACK_WITHIN_SECONDS = 10
JOB_EVERY_SECONDS = 3
PODS = 6


@pytest.fixture
def rebuilds(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Views that were thrown away, by service; the first one of each is no rebuild."""
    seen: list[str] = []
    poll = Follower.poll

    async def counted(self: Follower, *args: object, **named: object) -> object:
        batch = await poll(self, *args, **named)  # type: ignore[arg-type]  # passed on as it came
        if batch.rebuilt:
            seen.append(self._context.name)
        return batch

    monkeypatch.setattr(Follower, "poll", counted)
    return iter([seen])


async def fences(stack: SlowStack) -> int:
    found = 0
    for topic in FACTS:
        ends = await stack.bus.end_offsets(topic.name)
        reader = await stack.bus.reader(
            {TopicPartition(topic.name, p): 0 for p in range(len(ends))}
        )
        while records := await reader.poll(max_records=10_000, wait_seconds=0):
            found += sum(record.key == FENCE_KEY for record in records)
        await reader.close()
    return found


def transitions(stack: SlowStack) -> list[int]:
    listed = stack.api.list(stack.api.registry.for_kind(LEASES)).items
    return [msgspec.json.decode(raw)["spec"]["leaseTransitions"] for raw in listed]


def whole_lists(stack: SlowStack) -> int:
    """By the watcher; it looks behind with lists of one object, and nobody else lists everything."""
    return sum(stack.asked("list", kind.short) for kind in WATCHED)


def bound(stack: SlowStack) -> int:
    return sum(bool(pod.spec.node_name) for pod in stack.pods())


@pytest.mark.parametrize(
    ("seconds", "lease_seconds"),
    [(2.0, None), (2.0, 7.0), (7.0, 7.0)],
    ids=["slow", "slow, and leases run out", "too slow for every request"],
)
def test_nothing_is_rebuilt_and_throughput_is_back(
    seconds: float, lease_seconds: float | None, rebuilds: Iterator[list[str]]
) -> None:
    rebuilt = next(rebuilds)

    async def main() -> None:
        async with SlowStack(services=SERVICES) as stack:
            await stack.submit(gang_job("first", replicas=PODS, cpu="100m", run_seconds=1000))
            await stack.until(lambda: bound(stack) == PODS, seconds=60, what="the first is bound")
            await stack.clock.sleep(15)
            jobs, before = 1, (await fences(stack), transitions(stack), len(rebuilt))
            synced = stack.running["watcher"]._watches  # type: ignore[attr-defined]
            syncs = {kind: watch._syncs for kind, watch in synced.items()}
            stack.weather.seconds, stack.weather.lease_seconds = seconds, lease_seconds
            for number in range(SLOW_FOR_SECONDS // JOB_EVERY_SECONDS):
                name = f"slow-{number}"
                await stack.submit(gang_job(name, replicas=PODS, cpu="100m", run_seconds=1000))
                jobs += 1
                await stack.clock.sleep(JOB_EVERY_SECONDS)
            slowly = bound(stack)
            stack.weather.seconds, stack.weather.lease_seconds = 0.0, None
            await stack.until(
                lambda: bound(stack) == jobs * PODS,
                seconds=BACK_WITHIN_SECONDS,
                what=f"all {jobs * PODS} pods are bound, {slowly} were before",
            )
            assert (await fences(stack), transitions(stack), len(rebuilt)) == before
            assert synced is stack.running["watcher"]._watches  # type: ignore[attr-defined]
            assert {kind: watch._syncs for kind, watch in synced.items()} == syncs, "relisted"
            assert stack.asked("evict") == stack.asked("delete", "pods") == 0, "released"
            assert max(stack.created.values()) == 1
            if seconds < 5:
                assert stack.asked("bind") == jobs * PODS, "binds were sent again"
            if lease_seconds is None:
                assert slowly > jobs * PODS / 2
            assert stack.problems == []

    run_virtual(main())
