"""Events: one object for messages that differ only in numbers, with the newest message and a count."""

from typing import Any

import msgspec
import pytest

from tests.builders.contexts import memory_cluster, memory_context
from vc.clock import LoopClock, run_virtual
from vc.cluster import ServerError
from vc.messages.effects import RecordEvent
from vc.model.api.kinds import EVENTS, JOBS
from vc.model.api.struct import JsonObject
from vc.model.message_kind import message_kind, same_kind
from vc.runtime.applying.events import WINDOW_SECONDS, EventRecorder
from vc.runtime.hosting.context import Context
from vc.simcluster.cluster import StoreCluster


def waits(message: str, *, aggregate: bool = True) -> RecordEvent:
    return RecordEvent(
        kind=JOBS,
        namespace="default",
        name="j",
        uid="u",
        type="Warning",
        reason="FailedScheduling",
        message=message,
        aggregate=aggregate,
    )


def listed(context: Context) -> list[dict[str, Any]]:
    cluster = context.cluster
    assert isinstance(cluster, StoreCluster)
    found = cluster.api.list(cluster.api.registry.for_kind(EVENTS)).items
    return [msgspec.json.decode(raw) for raw in found]


def test_numbers_that_change_are_one_event_with_the_newest_message() -> None:
    async def main() -> None:
        context = memory_context("scheduler", clock=LoopClock(wall_at_zero=1_800_000_000.0))
        recorder = EventRecorder(context)
        await recorder.record(waits("3/8 nodes lack cpu"))
        await recorder.record(waits("2/8 nodes lack cpu"))
        (event,) = listed(context)
        assert (event["count"], event["message"]) == (1, "3/8 nodes lack cpu"), "within the window"
        await context.clock.sleep(WINDOW_SECONDS)
        await recorder.record(waits("1/8 nodes lack cpu"))
        (event,) = listed(context)
        assert (event["count"], event["message"]) == (3, "1/8 nodes lack cpu")
        await recorder.record(waits("1/8 nodes lack memory"))
        assert len(listed(context)) == 2, "another kind of reason is another event"

    run_virtual(main())


def test_a_restarted_service_finds_the_event_it_aggregated() -> None:
    async def main() -> None:
        context = memory_context("scheduler", clock=LoopClock(wall_at_zero=1_800_000_000.0))
        await EventRecorder(context).record(waits("3/8 nodes lack cpu"))
        await EventRecorder(context).record(waits("2/8 nodes lack cpu"))
        (event,) = listed(context)
        assert event["message"] == "2/8 nodes lack cpu"

    run_virtual(main())


def test_the_count_continues_after_a_restart_without_a_read() -> None:
    async def main() -> None:
        context = memory_context("scheduler", clock=LoopClock(wall_at_zero=1_800_000_000.0))
        first = EventRecorder(context)
        for _ in range(5):
            await first.record(waits("3/8 nodes lack cpu"))
            await context.clock.sleep(WINDOW_SECONDS)
        (before,) = listed(context)
        assert before["count"] == 5
        restarted = EventRecorder(context)
        await restarted.record(waits("3/8 nodes lack cpu"))
        (event,) = listed(context)
        assert event["count"] == 5, "never lower than before; this one is added with the next"
        await context.clock.sleep(WINDOW_SECONDS)
        await restarted.record(waits("3/8 nodes lack cpu"))
        (event,) = listed(context)
        assert event["count"] == 7
        assert event["firstTimestamp"] == before["firstTimestamp"]

    run_virtual(main())


class FailsOnce(StoreCluster):
    """A cluster whose first patch is not answered."""

    failed = False

    async def patch(self, *args: Any, **named: Any) -> JsonObject:
        if not self.failed:
            self.failed = True
            raise ServerError("no answer")
        return await super().patch(*args, **named)


def test_a_count_that_could_not_be_learned_is_not_reset() -> None:
    async def main() -> None:
        clock = LoopClock(wall_at_zero=1_800_000_000.0)
        context = memory_context(
            "scheduler", clock=clock, cluster=FailsOnce(memory_cluster(clock).api)
        )
        await EventRecorder(context).record(waits("3/8 nodes lack cpu"))
        restarted = EventRecorder(context)
        for _ in range(3):
            await restarted.record(waits("3/8 nodes lack cpu"))
            await clock.sleep(WINDOW_SECONDS)
        (event,) = listed(context)
        assert event["count"] == 3, "the occurrence whose update failed is not counted"

    run_virtual(main())


def test_events_that_do_not_aggregate_are_distinguished_by_their_numbers() -> None:
    async def main() -> None:
        context = memory_context("scheduler", clock=LoopClock(wall_at_zero=1_800_000_000.0))
        recorder = EventRecorder(context)
        await recorder.record(waits("pod 1", aggregate=False))
        await recorder.record(waits("pod 2", aggregate=False))
        assert len(listed(context)) == 2

    run_virtual(main())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3 of the 8 pods", "4 of the 8 pods", True),
        ("at most cpu 900m free", "at most cpu 1.5 free", True),
        ("memory 512Gi", "memory 8Mi", True),
        ("pod train-3 waits", "pod train-12 waits", True),
        ("insufficient cpu", "insufficient memory", False),
        ("queue 'a' is closed", "queue 'b' is closed", False),
    ],
    ids=str,
)
def test_messages_are_of_one_kind_when_only_numbers_differ(
    one: str, other: str, same: bool
) -> None:
    assert same_kind(one, other) is same
    assert same_kind(other, one) is same


def test_each_number_is_one_mark() -> None:
    assert message_kind("3/8 nodes: 12.5Gi of 1k") == "#/# nodes: # of #"
