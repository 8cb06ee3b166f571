"""The watcher and a follower of its facts on a bus, while another client writes to its topics."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import msgspec
import pytest

from tests.builders.contexts import memory_cluster, memory_context
from tests.contracts.bus.backends import Backend
from tests.contracts.bus.steps import WAIT_SECONDS_MAX
from vc.clock import LoopClock
from vc.cluster import Cluster
from vc.messages.codec import HEADER_SCHEMA
from vc.messages.facts import fence_message
from vc.messages.progress import Progress, progress_message
from vc.messages.record import Message
from vc.messages.topics import ALL, PROGRESS
from vc.model.api.kinds import NAMESPACES, PODS, QUEUES
from vc.runtime.consuming.follower import Follower
from vc.watcher.config import Config
from vc.watcher.service import WatcherService


class Case(msgspec.Struct, frozen=True):
    id: str
    forge: Callable[[Progress], Message]


def _ahead(told: Progress, epochs: int) -> Progress:
    stamp = msgspec.structs.replace(told.stamp, epoch=told.stamp.epoch + epochs)
    return msgspec.structs.replace(told, stamp=stamp)


def _newer(told: Progress) -> Message:
    message = progress_message(told)
    return msgspec.structs.replace(
        message, headers={**message.headers, HEADER_SCHEMA: "2"}, key="x"
    )


CASES = [
    Case("a higher epoch of facts", lambda t: fence_message(QUEUES, partition=0, stamp=_ahead(t, 1).stamp)),
    Case("a higher epoch of progress", lambda t: progress_message(_ahead(t, 1))),
    Case("a far higher epoch of progress", lambda t: progress_message(_ahead(t, 10**9))),
    Case("an epoch that no Lease has", lambda t: progress_message(_ahead(t, 2**62))),
    Case("progress in our name", lambda t: progress_message(msgspec.structs.replace(t, sequence=2**50, end_offsets=[2**60]))),
    Case("an unknown key of a newer version", _newer),
]  # fmt: skip


class Site:
    """One cluster's watcher and reader."""

    def __init__(self, backend: Backend, *, name: str, clock: LoopClock) -> None:
        self.clock = clock
        self.cluster: Cluster = memory_cluster(clock)
        self.context = memory_context(
            "watcher", identity=name, clock=clock, bus=backend.bus, cluster=self.cluster
        )
        self.watcher = WatcherService(self.context, Config())
        self.follower = Follower(
            memory_context("reader", clock=clock, bus=backend.bus, cluster=self.cluster), [QUEUES]
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "volcano-system"},
        }
        await self.cluster.create(NAMESPACES, namespace)
        self._tasks = [asyncio.create_task(self.watcher.run()), asyncio.create_task(self._follow())]

    async def _follow(self) -> None:
        while True:
            await self.follower.poll()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        await self.follower.close()

    async def sees(self, *names: str) -> None:
        """Until the reader is ready and has exactly these queues."""
        deadline = self.clock.monotonic() + WAIT_SECONDS_MAX
        while self.follower.unready() or self.queues() != set(names):
            assert self.clock.monotonic() < deadline, (self.follower.unready(), self.queues())
            await self.clock.sleep(0.05)

    def queues(self) -> set[str]:
        return {queue.metadata.name for queue in self.follower.view.objects(QUEUES)}

    async def add_queue(self, name: str) -> None:
        body = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind, "metadata": {"name": name}}
        await self.cluster.create(QUEUES, body)


@pytest.fixture
async def site(backend: Backend) -> AsyncIterator[Site]:
    """On fresh topics: their names are fixed, so earlier tests may have left some."""
    left = {t.name for t in ALL} - set(await backend.bus.missing_topics(ALL))
    await backend.delete_topics(sorted(left))
    made = Site(backend, name="first", clock=LoopClock())
    await made.start()
    await made.add_queue("a")
    await made.sees("a")
    yield made
    await made.stop()


@pytest.mark.timeout(120)
async def test_whatever_others_write_is_outgrown_or_passed_over(
    site: Site, backend: Backend
) -> None:
    """One after another on the same topics: what one has left must not hinder the next either."""
    names = ["a"]
    for number, case in enumerate(CASES):
        told = site.follower.view.progress(QUEUES)
        assert told is not None, case.id
        await backend.bus.publish([case.forge(told)])
        names.append(f"q{number}")
        await site.add_queue(names[-1])
        await site.sees(*names)
        await site.clock.sleep(1.5)  # a term that ends late ends now
        await site.sees(*names)
    fresh = Follower(site.context, [QUEUES, PODS])
    deadline = site.clock.monotonic() + WAIT_SECONDS_MAX
    while fresh.unready():
        await fresh.poll()
        assert site.clock.monotonic() < deadline, fresh.unready()
    assert {queue.metadata.name for queue in fresh.view.objects(QUEUES)} == set(names)
    await fresh.close()


@pytest.mark.timeout(120)
async def test_a_second_cluster_writes_nothing_and_says_why(site: Site, backend: Backend) -> None:
    second = Site(backend, name="second", clock=site.clock)
    await second.start()
    await second.add_queue("theirs")
    deadline = site.clock.monotonic() + WAIT_SECONDS_MAX
    while not all(
        "belong to cluster" in said
        for said in (second.watcher.unready(), second.follower.unready())
    ):
        assert site.clock.monotonic() < deadline, second.watcher.unready()
        await site.clock.sleep(0.1)
    await site.add_queue("b")
    await site.sees("a", "b")
    await second.stop()
    await site.stop()
    before = await backend.bus.end_offsets(PROGRESS.name)
    third = Site(backend, name="third", clock=site.clock)
    await third.start()
    await third.clock.sleep(3)
    assert await backend.bus.end_offsets(PROGRESS.name) == before
    await third.stop()
