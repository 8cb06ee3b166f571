"""One kind's watch when the API server cuts, refuses, forgets or is set back; docs/protocol.md 5 to 8."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from tests.builders.contexts import memory_context, our_registry
from tests.builders.watching import watch_of
from tests.unit.watcher.faulty import FaultyCluster, OrderedBus
from tests.unit.watcher.test_service import queue
from vc.clock import LoopClock, run_virtual
from vc.cluster import ClusterError, ForbiddenError, ServerError, TooManyRequestsError
from vc.messages.facts import Stamp, identity_of
from vc.messages.progress import PROGRESS_PERIOD_SECONDS
from vc.messages.record import Message, Record
from vc.messages.topics import BY_NAME
from vc.model.api.kinds import QUEUES
from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import Queue
from vc.simcluster.store.identity import seeded_uids
from vc.simcluster.verbs.api import Api
from vc.watcher.config import Config
from vc.watcher.facts import Facts
from vc.watcher.kindwatch import RESTORE_CHECK_SECONDS, RESUMED_WATCH_SECONDS, UNHEARD_SECONDS_MAX
from vc.watcher.logic import Index

WATCH_SECONDS = Config().watch_seconds
BACKLOG = 50


class World:
    """Queues, followed by one watch whose progress is published once a second."""

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.api = self.new_api()
        self.cluster = FaultyCluster(self.api, clock=self.clock)
        self.bus = OrderedBus(self.clock)
        self.synced_at: list[tuple[float, bool]] = []

    def new_api(self) -> Api:
        """Two of them that live through the same give the same uids and versions."""
        return Api(clock=self.clock, registry=our_registry(), uid_source=seeded_uids(0))

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        await self.bus.ensure_topics([BY_NAME[QUEUES.topic]])
        context = memory_context("watcher", clock=self.clock, bus=self.bus, cluster=self.cluster)
        self.watch = await watch_of(context, QUEUES)
        tasks = [asyncio.create_task(self.watch.run()), asyncio.create_task(self._tell())]
        await self.clock.sleep(1)
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(error, asyncio.CancelledError) for error in ended), ended

    async def _tell(self) -> None:
        while True:
            progress = self.watch.progress(len(self.synced_at))
            self.synced_at.append((self.clock.monotonic(), progress.synced))
            self.watch.progress_published(progress)
            await self.clock.sleep(PROGRESS_PERIOD_SECONDS)

    def synced(self) -> bool:
        return self.watch.progress(0).synced

    def said(self) -> list[tuple[str, int | None]]:
        """Every fact that was published: its name, and its version or None for its end."""
        return [(m.key, _version(m)) for m in self.bus.published if m.topic == QUEUES.topic]

    def on_topic(self) -> dict[str, int]:
        """What a reader of all that was published believes."""
        newest = dict(self.said())
        return {key: version for key, version in newest.items() if version is not None}

    def living(self) -> dict[str, int]:
        """What the API server says."""
        page = self.cluster.api.list(self.cluster.api.registry.for_kind(QUEUES))
        metadata = [msgspec.json.decode(raw)["metadata"] for raw in page.items]
        return {each["name"]: int(each["resourceVersion"]) for each in metadata}

    def forget_history(self) -> None:
        """The next watch is too old."""
        table = self.api.store.table(self.api.registry.for_kind(QUEUES))
        table.compact(self.api.store.version)

    async def weigh(self, name: str, weight: int) -> None:
        await self.cluster.patch(QUEUES, {"spec": {"weight": weight}}, name=name)


def _version(message: Message) -> int | None:
    if message.value is None:
        return None
    record = Record(**{**msgspec.structs.asdict(message), "offset": 0})
    return int(identity_of(record).resource_version)


def test_a_watch_that_was_cut_goes_on_from_its_last_event() -> None:
    async def main() -> None:
        world = World()
        await world.cluster.create(QUEUES, queue("a"))
        async with world.following():
            await world.weigh("a", 2)
            await world.cluster.create(QUEUES, queue("b"))
            await world.weigh("a", 3)
            await world.cluster.delete(QUEUES, name="b")
            await world.clock.sleep(1)
            before = world.said()
            world.cluster.cut_after_events = 5
            await world.weigh("a", 4)
            await world.clock.sleep(1)
            reached = world.living()["a"]
            assert world.cluster.watched_from[-1] == str(reached)
            assert world.said() == [*before, ("a", reached)], "nothing is published twice"
            assert world.on_topic() == world.living()

    run_virtual(main())


class Outage(msgspec.Struct, frozen=True):
    """What an API server answers instead of a watch."""

    id: str
    refusal: Callable[[], ClusterError]


OUTAGES = [
    Outage("the API server is away", lambda: ServerError("connection refused")),
    Outage("the watcher may not read queues", lambda: ForbiddenError("no")),
    Outage("the API server wants us to come later", lambda: TooManyRequestsError("later")),
]


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.id)
def test_a_kind_that_is_not_followed_is_not_synced(outage: Outage) -> None:
    async def main() -> None:
        world = World()
        await world.cluster.create(QUEUES, queue("a"))
        async with world.following():
            assert world.synced()
            world.cluster.refusal = outage.refusal
            await world.clock.sleep(2 * WATCH_SECONDS + UNHEARD_SECONDS_MAX)
            assert not world.synced()
            await world.weigh("a", 2)
            lists = world.cluster.lists.total()
            await world.clock.sleep(60)
            assert not world.synced()
            world.cluster.refusal = None
            await world.clock.sleep(5 + 2 * RESUMED_WATCH_SECONDS)
            assert world.synced()
            assert world.on_topic() == world.living()
            assert world.cluster.lists.total() <= lists + 2, "no relist"

    run_virtual(main())


def test_what_came_in_an_outage_is_out_before_the_kind_is_synced_again() -> None:
    async def main() -> None:
        world = World()
        await world.cluster.create(QUEUES, queue("a"))
        async with world.following():
            world.cluster.refusal = lambda: ServerError("connection refused")
            await world.clock.sleep(60)
            for weight in range(2, 2 + BACKLOG):
                await world.weigh("a", weight)
            world.cluster.event_seconds = 2 * RESUMED_WATCH_SECONDS / BACKLOG

            async def be_slow(_: object) -> None:
                await world.clock.sleep(2)

            world.bus.before_publish = be_slow
            world.cluster.refusal = None
            while not world.synced():
                await world.clock.sleep(0.001)
            assert world.on_topic() == world.living()

    run_virtual(main())


def test_an_api_server_that_restarts_quickly_is_not_noticed() -> None:
    async def main() -> None:
        world = World()
        await world.cluster.create(QUEUES, queue("a"))
        async with world.following():
            began = world.clock.monotonic()
            for _ in range(10):
                world.cluster.refusal = lambda: ServerError("connection refused")
                await world.clock.sleep(WATCH_SECONDS / 2)
                world.cluster.refusal = None
                await world.clock.sleep(WATCH_SECONDS * 2)
            assert all(synced for at, synced in world.synced_at if at >= began)

    run_virtual(main())


def test_a_quiet_kind_stays_synced() -> None:
    async def main() -> None:
        world = World()
        async with world.following():
            began = world.clock.monotonic()
            await world.clock.sleep(300)
            assert all(synced for at, synced in world.synced_at if at >= began)
            looks = world.cluster.lists.total() - 1
            assert looks <= 300 / RESTORE_CHECK_SECONDS

    run_virtual(main())


def test_after_a_gap_a_kind_is_not_synced_until_the_list_is_out() -> None:
    async def main() -> None:
        world = World()
        await world.cluster.create(QUEUES, queue("a"))
        async with world.following():
            world.cluster.refusal = lambda: ServerError("connection refused")
            await world.clock.sleep(WATCH_SECONDS)
            await world.cluster.create(QUEUES, queue("b"))
            await world.cluster.delete(QUEUES, name="a")
            world.forget_history()
            listed = asyncio.Event()

            async def hold(_: str) -> None:
                listed.set()
                await world.clock.sleep(2)

            world.cluster.before_answer = hold
            world.cluster.refusal = None
            assert world.synced(), "or this tests nothing"
            await listed.wait()
            await world.clock.sleep(2.5)
            assert not world.synced()
            await world.clock.sleep(4)
            assert world.synced()
            assert world.on_topic() == world.living()

    run_virtual(main())


def test_nothing_of_a_list_leaves_before_it_was_told_that_the_kind_is_not_synced() -> None:
    async def main() -> None:
        world = World()
        await world.cluster.create(QUEUES, queue("a"))
        async with world.following():
            synced: list[bool] = []

            async def look(messages: object) -> None:
                synced.append(world.synced_at[-1][1])

            await world.clock.sleep(WATCH_SECONDS - 1.5)
            world.cluster.refusal = lambda: ServerError("connection refused")
            await world.clock.sleep(2)
            await world.cluster.create(QUEUES, queue("b"))
            world.forget_history()
            world.bus.before_publish = look
            world.cluster.refusal = None
            await world.clock.sleep(10)
            assert synced == [False]
            assert world.on_topic() == world.living()

    run_virtual(main())


def test_a_cluster_that_was_set_back_is_listed_anew_and_believed() -> None:
    async def main() -> None:
        world = World()
        backup = FaultyCluster(world.new_api(), clock=world.clock)
        for cluster in (world.cluster, backup):
            await cluster.create(QUEUES, queue("a"))
            await cluster.create(QUEUES, queue("b"))
        await world.weigh("a", 7)
        await world.cluster.delete(QUEUES, name="b")
        await world.cluster.create(QUEUES, queue("c"))
        async with world.following():
            assert world.on_topic() == world.living()
            assert world.on_topic().keys() == {"a", "c"}
            world.cluster.api = backup.api
            await world.clock.sleep(RESTORE_CHECK_SECONDS + 2 * WATCH_SECONDS)
            assert world.living().keys() == {"a", "b"}
            assert world.on_topic() == world.living()
            assert world.synced()

    run_virtual(main())


def test_an_object_that_becomes_unreadable_stays_until_it_is_gone() -> None:
    async def main() -> None:
        world = World()
        for name in ("a", "b"):
            await world.cluster.create(QUEUES, queue(name))
        async with world.following():
            before = world.on_topic()
            world.cluster.garbled = {"a"}
            await world.weigh("a", 2)
            world.cluster.refusal = lambda: ServerError("connection refused")
            await world.clock.sleep(WATCH_SECONDS)
            await world.cluster.delete(QUEUES, name="b")
            world.forget_history()
            world.cluster.refusal = None
            await world.clock.sleep(WATCH_SECONDS)
            assert world.synced()
            assert world.on_topic() == {"a": before["a"]}, "a list shows it still"
            await world.cluster.delete(QUEUES, name="a")
            await world.clock.sleep(1)
            assert world.on_topic() == {}

    run_virtual(main())


def test_an_object_that_no_message_can_hold_is_left_out_and_the_topic_keeps_what_it_has() -> None:
    index = Index(QUEUES, stamp=Stamp(incarnation="i1", epoch=1))
    facts = Facts(memory_context("watcher", clock=LoopClock()), index)
    metadata = ObjectMeta(name="a", uid="u1", resource_version="1")
    first = Queue(api_version=QUEUES.api_version, kind=QUEUES.kind, metadata=metadata)
    assert [m.key for m in facts.messages_of(first)] == ["a"]
    unpackable = msgspec.structs.replace(
        first,
        metadata=msgspec.structs.replace(metadata, resource_version="2"),
        spec=msgspec.structs.replace(first.spec, weight=2**70),
    )
    assert facts.messages_of(unpackable) == []
    assert [m.key for m in index.gone("a")] == ["a"]
