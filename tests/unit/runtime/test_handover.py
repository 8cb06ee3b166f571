"""Handover: a new leader decides nothing before its view has what the last leader may have written."""

import asyncio
from typing import Any

from tests.builders.contexts import memory_context
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock, run_virtual
from vc.cluster import ListPage
from vc.messages.facts import Stamp
from vc.messages.progress import Progress, progress_message
from vc.messages.record import Message, Record
from vc.messages.topics import ALL, PROGRESS, fact_partitions
from vc.messages.view import View
from vc.model.api.kinds import CONFIGMAPS, NAMESPACES, PODS, WATCHED, Kind
from vc.runtime.leading.election import (
    LEASE_SECONDS,
    NEW_CLUSTER_ROUNDS_MAX,
    REQUEST_SECONDS_MAX,
    Leadership,
)
from vc.runtime.leading.handover import Handover
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api

KINDS = (PODS, CONFIGMAPS)
SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "volcano-system"}}


class CountingCluster(StoreCluster):
    """Remembers which kinds were listed."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.listed: list[str] = []

    async def list(self, kind: Kind, **options: Any) -> ListPage:
        self.listed.append(kind.short)
        return await super().list(kind, **options)


class World:
    """A cluster with one leader after another."""

    def __init__(self) -> None:
        self.clock = LoopClock(wall_at_zero=1.8e9)
        self.cluster = CountingCluster(Api(clock=self.clock))
        self.bus = MemoryBus(self.clock)
        self.view = View(KINDS)
        self._told = 0

    async def lead(self, name: str) -> tuple[Handover, asyncio.Task[None]]:
        context = memory_context(
            "scheduler", identity=name, clock=self.clock, bus=self.bus, cluster=self.cluster
        )
        leadership = Leadership(context)
        leading = asyncio.create_task(leadership.run())
        await leadership.wait_until_leading()
        return Handover(context, leadership), leading

    def publish_progress(self, kind: Kind, version: str) -> None:
        """The watcher's word on how far a kind is."""
        self._told += 1
        stamp = Stamp(incarnation="one", epoch=1)
        said = progress_message(
            Progress(
                kind=kind.short,
                stamp=stamp,
                sequence=self._told,
                synced=True,
                resource_version=version,
                end_offsets=[0] * fact_partitions(kind),
            )
        )
        record = Record(
            topic=said.topic,
            partition=0,
            offset=self._told,
            key=said.key,
            value=said.value,
            headers=said.headers,
        )
        self.view.apply(record, received_at=self.clock.monotonic(), live=True)


def test_every_kind_of_the_view_is_asked_for_and_waited_for() -> None:
    async def main() -> None:
        world = World()
        await world.cluster.create(NAMESPACES, SYSTEM)
        _, first = await world.lead("one")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        handover, second = await world.lead("two")
        for kind in KINDS:
            world.publish_progress(kind, "1")
        assert not await handover.over(world.view)
        assert world.clock.monotonic() >= REQUEST_SECONDS_MAX
        assert sorted(world.cluster.listed) == sorted(kind.short for kind in KINDS)
        assert not await handover.over(world.view)
        version = (await world.cluster.list(PODS)).resource_version
        world.publish_progress(PODS, version)
        assert not await handover.over(world.view)
        world.publish_progress(CONFIGMAPS, version)
        assert await handover.over(world.view)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)

    run_virtual(main())


def test_a_leader_without_a_predecessor_waits_for_nothing() -> None:
    async def main() -> None:
        world = World()
        await world.cluster.create(NAMESPACES, SYSTEM)
        handover, leading = await world.lead("one")
        for kind in KINDS:
            world.publish_progress(kind, "1")
        assert not await handover.over(world.view)
        assert await handover.over(world.view)
        assert world.clock.monotonic() < LEASE_SECONDS
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)

    run_virtual(main())


def test_who_makes_the_first_lease_of_an_old_cluster_waits_for_its_view() -> None:
    """Its epoch is 1 as well, but another replica may have led whose lease was deleted."""

    async def main() -> None:
        world = World()
        await world.cluster.create(NAMESPACES, SYSTEM)
        await world.bus.ensure_topics(ALL)
        told = Message(topic=PROGRESS.name, partition=0, key="pods", value=b"{}")
        await world.bus.publish([told] * (NEW_CLUSTER_ROUNDS_MAX * len(WATCHED) + 1))
        handover, leading = await world.lead("one")
        for kind in KINDS:
            world.publish_progress(kind, "1")
        assert world.clock.monotonic() >= LEASE_SECONDS + REQUEST_SECONDS_MAX
        began = world.clock.monotonic()
        assert not await handover.over(world.view)
        assert handover.epoch == 1
        assert world.clock.monotonic() < began + REQUEST_SECONDS_MAX, "waited twice"
        assert not await handover.over(world.view)
        version = (await world.cluster.list(PODS)).resource_version
        for kind in KINDS:
            world.publish_progress(kind, version)
        assert await handover.over(world.view)
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)

    run_virtual(main())
