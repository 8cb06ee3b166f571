"""How events leave the watcher: at once when idle, together in a crowd."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from tests.builders.contexts import memory_cluster, memory_context
from tests.builders.watching import watch_of
from tests.unit.watcher.test_service import queue
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock, run_virtual
from vc.messages.record import Message
from vc.messages.topics import BY_NAME
from vc.model.api.kinds import QUEUES
from vc.watcher.outbox import GATHER_SECONDS

CROWD = 100
EVENT_SECONDS = 0.001


class CountingBus(MemoryBus):
    """Remembers when it was asked to publish, and how much."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__(clock)
        self.published: list[tuple[float, int]] = []
        self._own_clock = clock

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        self.published.append((self._own_clock.monotonic(), len(messages)))
        return await super().publish(messages)


def test_the_first_event_leaves_at_once_and_a_crowd_together() -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = CountingBus(clock)
        await bus.ensure_topics([BY_NAME[QUEUES.topic]])
        cluster = memory_cluster(clock)
        context = memory_context("watcher", clock=clock, bus=bus, cluster=cluster)
        watch = await watch_of(context, QUEUES)
        running = asyncio.create_task(watch.run())
        await clock.sleep(1)
        began = clock.monotonic()
        for number in range(CROWD):
            await cluster.create(QUEUES, queue(f"q-{number}"))
            await clock.sleep(EVENT_SECONDS)
        await clock.sleep(1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

        times = [at for at, _ in bus.published]
        assert sum(count for _, count in bus.published) == CROWD
        assert times[0] - began < EVENT_SECONDS
        assert all(later - at >= GATHER_SECONDS * 0.99 for at, later in pairwise(times))
        assert len(times) <= CROWD * EVENT_SECONDS / GATHER_SECONDS + 2
        assert times[-1] - began == pytest.approx(CROWD * EVENT_SECONDS, abs=GATHER_SECONDS)

    run_virtual(main())
