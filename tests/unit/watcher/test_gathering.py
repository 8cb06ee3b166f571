"""How events leave the watcher: at once when idle, together in a crowd."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from tests.unit.watcher.test_service import queue
from vc_bus.memory import MemoryBus
from vc_clock import LoopClock, run_virtual
from vc_messages.facts import Stamp
from vc_messages.record import Message
from vc_messages.topics import BY_NAME
from vc_model.kinds import QUEUES
from vc_runtime.context import Context
from vc_simcluster.api import Api
from vc_simcluster.cluster import StoreCluster
from vc_simcluster.registry import Registry, crd_folder, load_crds
from vc_snapshot.memory import MemorySnapshot
from vc_watcher.config import Config
from vc_watcher.kindwatch import GATHER_SECONDS, KindWatch, Publisher
from vc_watcher.logic import Index
from vc_watcher.meters import Meters

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
        api = Api(clock=clock, registry=Registry(crds=load_crds(crd_folder())))
        cluster = StoreCluster(api)
        context = Context(
            name="watcher",
            bus=bus,
            cluster=cluster,
            snapshot=MemorySnapshot(),
            clock=clock,
            identity="test",
        )
        watch = KindWatch(
            context,
            Config(),
            index=Index(QUEUES, stamp=Stamp(incarnation="i", epoch=1)),
            publisher=Publisher(context, may_write=lambda: True),
            meters=Meters(context.metrics),
            end_offsets=await bus.end_offsets(QUEUES.topic),
        )
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
