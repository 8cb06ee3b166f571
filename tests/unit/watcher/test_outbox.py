"""The queue between reading and publishing: bounded in messages and in bytes, in order."""

import asyncio

import msgspec
import pytest

from tests.builders.contexts import memory_context
from tests.unit.watcher.faulty import OrderedBus
from vc.clock import LoopClock, run_virtual
from vc.messages.record import Message
from vc.messages.topics import BY_NAME
from vc.model.api.kinds import QUEUES
from vc.watcher.config import Config
from vc.watcher.metrics import WatcherMetrics
from vc.watcher.outbox import Item, Outbox, Publisher
from vc.watcher.spans import JobSpans

COUNT = 100
MESSAGE_BYTES = 1000
QUEUED = "pyroclast_watcher_queued_messages"
LABELS = {"kind": QUEUES.short}


class Case(msgspec.Struct, frozen=True):
    """A bound, and how many messages may wait under it."""

    id: str
    config: Config
    waiting_max: int
    published_bytes_max: int


CASES = [
    Case(
        "bounded in messages",
        Config(queue_max=10, batch_max=5),
        waiting_max=10,
        published_bytes_max=5 * MESSAGE_BYTES,
    ),
    Case(
        "bounded in bytes",
        Config(queue_bytes_max=20 * MESSAGE_BYTES, batch_bytes_max=4 * MESSAGE_BYTES),
        waiting_max=20,
        published_bytes_max=4 * MESSAGE_BYTES,
    ),
]


def message(number: int) -> Message:
    return Message(
        topic=QUEUES.topic, partition=0, key=f"q-{number}", value=b"x" * MESSAGE_BYTES, headers={}
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_bus_that_is_away_stops_reading_and_everything_leaves_in_order(case: Case) -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = OrderedBus(clock)
        await bus.ensure_topics([BY_NAME[QUEUES.topic]])
        context = memory_context("watcher", clock=clock, bus=bus)
        outbox = Outbox(
            context,
            case.config,
            kind=QUEUES.short,
            publisher=Publisher(context, may_write=lambda: True),
            end_offsets=[0],
            metrics=WatcherMetrics(context.metrics),
            spans=JobSpans(context),
        )
        put: list[int] = []

        async def read() -> None:
            for number in range(COUNT):
                outbox.put(Item(messages=[message(number)], reached=str(number)))
                put.append(number)
                await outbox.wait_for_space()

        bus.stop()
        running = [asyncio.create_task(outbox.run()), asyncio.create_task(read())]
        await clock.sleep(60)
        assert len(put) == case.waiting_max
        assert outbox.queued_bytes == case.waiting_max * MESSAGE_BYTES
        assert outbox.reached == ""
        assert context.metrics.get_sample_value(QUEUED, LABELS) == case.waiting_max
        bus.start()
        await clock.sleep(60)
        assert [m.key for m in bus.published] == [f"q-{number}" for number in range(COUNT)]
        assert max(bus.batches_bytes) <= case.published_bytes_max
        assert (outbox.queued_bytes, outbox.reached) == (0, str(COUNT - 1))
        assert context.metrics.get_sample_value(QUEUED, LABELS) == 0
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    run_virtual(main())
