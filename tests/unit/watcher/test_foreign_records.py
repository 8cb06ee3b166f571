"""What others wrote to our topics, and what happens while the truth is written over it; docs/protocol.md 4."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import msgspec
import pytest

from tests.simulation.stack import Stack
from tests.unit.watcher.faulty import FaultyCluster, OrderedBus
from tests.unit.watcher.test_service import Reader, queue, read_all, watcher_stack
from vc.clock import run_virtual
from vc.cluster import ServerError
from vc.messages import codec
from vc.messages.facts import FENCE_KEY, Stamp, fact_message, identity_of
from vc.messages.record import Message, Record
from vc.model.api.kinds import CONFIGMAPS, EVENTS, QUEUES
from vc.model.api.kubernetes import ConfigMap
from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import Queue
from vc.watcher.config import Config

SETTLED_SECONDS = 10.0


class World:
    """The watcher, a reader of queues, and a hand on both the cluster and the bus."""

    def __init__(self, stack: Stack, cluster: FaultyCluster, bus: OrderedBus) -> None:
        self.stack = stack
        self.cluster = cluster
        self.bus = bus
        self.reader = Reader(stack)

    async def write_foreign(self, name: str) -> None:
        """As a watcher would that was leader before this one."""
        progress = self.reader.follower.view.progress(QUEUES)
        assert progress is not None
        stamp = Stamp(incarnation=progress.stamp.incarnation, epoch=progress.stamp.epoch - 1)
        await self.bus.publish([foreign_fact(name, stamp)])

    async def newest(self) -> dict[str, Record]:
        """What compaction would leave of the queues."""
        return {r.key: r for r in await read_all(self.stack, QUEUES.topic)}


def foreign_fact(name: str, stamp: Stamp) -> Message:
    metadata = ObjectMeta(name=name, uid=f"foreign-{name}", resource_version="1")
    body = Queue(api_version=QUEUES.api_version, kind=QUEUES.kind, metadata=metadata)
    return fact_message(QUEUES, body, stamp=stamp)


def run(test: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        stack = watcher_stack()
        cluster = stack.cluster = FaultyCluster(stack.api, clock=stack.clock)
        bus = stack.bus = OrderedBus(stack.clock)
        async with stack:
            await test(World(stack, cluster, bus))
            assert stack.problems == []

    run_virtual(main())


def once(do: Callable[[], Awaitable[object]], *, name: str, stack: Stack) -> Any:
    """Before the first answer about that name something happens, and the watch tells of it."""
    done: list[str] = []

    async def before_answer(asked: str) -> None:
        if asked == name and not done:
            done.append(asked)
            await do()
            await stack.clock.sleep(0.5)

    return before_answer


def test_records_between_the_read_back_and_the_fence_are_overwritten() -> None:
    async def test(world: World) -> None:
        stack, reader = world.stack, world.reader
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        progress = reader.follower.view.progress(QUEUES)
        assert progress is not None
        written: list[str] = []

        async def before_publish(messages: Sequence[Message]) -> None:
            fences = messages[0].key == FENCE_KEY and messages[0].topic == QUEUES.topic
            if fences and not written:
                written.append("ghost")
                await world.bus.publish([foreign_fact("ghost", progress.stamp)])

        world.bus.before_publish = before_publish
        stack.kill("watcher")
        await stack.until(lambda: reader.epoch() == 2, seconds=60, what="a second epoch")
        await reader.until_queues({"a"})
        assert written
        assert (await world.newest())["ghost"].value is None

    run(test)


def test_config_maps_are_asked_for_in_our_own_namespace_alone() -> None:
    async def test(world: World) -> None:
        await world.reader.until_ready()
        progress = world.reader.follower.view.progress(QUEUES)
        assert progress is not None
        stamp = Stamp(incarnation=progress.stamp.incarnation, epoch=progress.stamp.epoch - 1)
        metadata = ObjectMeta(name="a", namespace="others", uid="u1", resource_version="1")
        others = ConfigMap(
            api_version=CONFIGMAPS.api_version, kind=CONFIGMAPS.kind, metadata=metadata
        )
        await world.bus.publish([fact_message(CONFIGMAPS, others, stamp=stamp)])
        await world.stack.clock.sleep(SETTLED_SECONDS)
        world.cluster.refused = CONFIGMAPS
        world.cluster.refusal = lambda: ServerError("connection refused")
        await world.stack.clock.sleep(Config().watch_seconds)
        world.cluster.refusal = None
        await world.stack.clock.sleep(SETTLED_SECONDS)
        asked = {where for kind, where in world.cluster.namespaces if kind == CONFIGMAPS.short}
        assert asked == {"volcano-system"}
        newest = {r.key: r for r in await read_all(world.stack, CONFIGMAPS.topic)}
        assert newest["others/a"].value is None

    run(test)


def test_an_object_that_ends_while_its_truth_is_read_stays_dead() -> None:
    async def test(world: World) -> None:
        stack, reader = world.stack, world.reader
        for name in ("a", "b"):
            await stack.cluster.create(QUEUES, queue(name))
        await reader.until_queues({"a", "b"})
        world.cluster.before_answer = once(
            lambda: stack.cluster.delete(QUEUES, name="a"), name="a", stack=stack
        )
        await world.write_foreign("a")
        await stack.clock.sleep(SETTLED_SECONDS)
        assert reader.queues() == {"b"}
        assert (await world.newest())["a"].value is None

    run(test)


def test_an_object_that_comes_and_goes_while_its_truth_is_read_stays_dead() -> None:
    async def test(world: World) -> None:
        stack, reader = world.stack, world.reader
        await stack.cluster.create(QUEUES, queue("b"))
        await reader.until_queues({"b"})

        async def come(asked: str) -> None:
            if asked == "a" and world.cluster.lists["a"] == 1:
                await stack.cluster.create(QUEUES, queue("a"))

        async def go() -> None:
            await stack.clock.sleep(0.5)
            await stack.cluster.delete(QUEUES, name="a")

        world.cluster.before_list = come
        world.cluster.before_answer = once(go, name="a", stack=stack)
        await world.write_foreign("a")
        await stack.clock.sleep(SETTLED_SECONDS)
        assert world.cluster.lists["a"] == 2
        assert reader.queues() == {"b"}
        assert (await world.newest())["a"].value is None

    run(test)


def test_an_object_whose_end_the_watch_has_yet_to_tell_does_not_come_back() -> None:
    async def test(world: World) -> None:
        stack, reader = world.stack, world.reader
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        world.cluster.event_seconds = 1.0
        await stack.cluster.patch(QUEUES, {"spec": {"weight": 2}}, name="a")
        await stack.cluster.delete(QUEUES, name="a")
        await world.write_foreign("a")
        await stack.clock.sleep(SETTLED_SECONDS)
        records = [r for r in await read_all(stack, QUEUES.topic) if r.key == "a"]
        ours = [r for r in records if identity_of(r).stamp.epoch == reader.epoch()]
        deleted = [record.value is None for record in ours]
        assert deleted == sorted(deleted), "nothing of it follows its tombstone"
        assert records[-1].value is None
        assert reader.queues() == set()

    run(test)


def test_an_object_that_is_made_while_its_truth_is_read_is_not_buried() -> None:
    async def test(world: World) -> None:
        stack, reader = world.stack, world.reader
        await reader.until_ready()
        world.cluster.before_answer = once(
            lambda: stack.cluster.create(QUEUES, queue("a")), name="a", stack=stack
        )
        await world.write_foreign("a")
        await stack.clock.sleep(SETTLED_SECONDS)
        assert reader.queues() == {"a"}
        newest = (await world.newest())["a"]
        assert newest.value is not None
        assert identity_of(newest).stamp.epoch == reader.epoch()

    run(test)


def test_the_truth_is_asked_for_again_when_the_api_server_fails() -> None:
    async def test(world: World) -> None:
        stack, reader = world.stack, world.reader
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        world.cluster.refusal = lambda: ServerError("connection refused")
        for name in ("a", "ghost"):
            await world.write_foreign(name)
        await stack.clock.sleep(8)
        world.cluster.refusal = None
        await stack.clock.sleep(SETTLED_SECONDS)
        newest = await world.newest()
        assert identity_of(newest["a"]).stamp.epoch == reader.epoch()
        assert newest["ghost"].value is None

    run(test)


def test_a_record_whose_live_read_fails_is_overwritten_by_a_relist() -> None:
    async def test(world: World) -> None:
        stack, reader = world.stack, world.reader
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})

        async def refuse_one_name(asked: str) -> None:
            if asked:
                raise ServerError("try later")

        world.cluster.before_answer = refuse_one_name
        for name in ("a", "ghost"):
            await world.write_foreign(name)
        await stack.clock.sleep(90)
        newest = await world.newest()
        assert identity_of(newest["a"]).stamp.epoch == reader.epoch()
        assert newest["ghost"].value is None
        await reader.until_queues({"a"})

    run(test)


def test_a_foreign_record_of_an_object_too_large_for_a_message_is_buried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(codec, "MESSAGE_BYTES_MAX", 20_000)

    async def test(world: World) -> None:
        stack, reader = world.stack, world.reader
        await reader.until_ready()
        large = queue("large")
        large["metadata"]["annotations"] = {"volcano.sh/x": "y" * 30_000}
        await stack.cluster.create(QUEUES, large)
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        events = (await stack.cluster.list(EVENTS, namespace="default")).items
        assert [msgspec.json.decode(raw)["reason"] for raw in events] == ["TooLarge"]
        await world.write_foreign("large")
        await stack.clock.sleep(SETTLED_SECONDS)
        assert (await world.newest())["large"].value is None
        await stack.cluster.create(QUEUES, queue("b"))
        await reader.until_queues({"a", "b"})

    run(test)
