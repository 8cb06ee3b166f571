"""The watcher on the twins, in virtual time: docs/protocol.md 1 to 8."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from tests.simulation.stack import Stack
from vc.clock import run_virtual
from vc.messages.facts import FENCE_KEY, Stamp, fact_message, identity_of
from vc.messages.progress import progress_of
from vc.messages.record import Record, TopicPartition
from vc.messages.topics import DEAD_LETTERS, FACTS, PROGRESS
from vc.model.api.kinds import LEASES, NODES, QUEUES
from vc.model.api.scheduling import Queue
from vc.runtime.consuming.follower import Follower


def queue(name: str, weight: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"weight": weight},
    }


def watcher_stack(**options: Any) -> Stack:
    return Stack(services=["watcher"], **options)


def run(test: Callable[[Stack], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        async with watcher_stack(**options) as stack:
            await test(stack)
            assert stack.problems == []

    run_virtual(main())


async def read_all(stack: Stack, topic: str) -> list[Record]:
    starts = await stack.bus.start_offsets(topic)
    reader = await stack.bus.reader({TopicPartition(topic, p): s for p, s in enumerate(starts)})
    records: list[Record] = []
    while batch := await reader.poll(max_records=10_000, wait_seconds=0):
        records += batch
    await reader.close()
    return records


class Reader:
    """A service that follows queues and nodes in the background."""

    def __init__(self, stack: Stack) -> None:
        self.follower = Follower(stack.context("test"), [QUEUES, NODES])
        self._stack = stack
        self.rebuilt = 0
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        while True:
            batch = await self.follower.poll()
            self.rebuilt += batch.rebuilt

    def queues(self) -> set[str]:
        return {q.metadata.name for q in self.follower.view.objects(QUEUES)}

    def epoch(self) -> int:
        progress = self.follower.view.progress(QUEUES)
        return progress.stamp.epoch if progress else 0

    async def until_ready(self, seconds: float = 30) -> None:
        await self._stack.until(
            lambda: not self.follower.unready(), seconds=seconds, what="a ready view"
        )

    async def until_queues(self, names: set[str]) -> None:
        await self._stack.until(
            lambda: not self.follower.unready() and self.queues() == names,
            seconds=60,
            what=f"queues {names}, not {self.queues()}",
        )


def test_every_kind_is_synced_and_the_view_equals_the_cluster() -> None:
    async def test(stack: Stack) -> None:
        await stack.cluster.create(QUEUES, queue("a"))
        reader = Reader(stack)
        await reader.until_queues({"a"})
        assert len(list(reader.follower.view.objects(NODES))) == 8

    run(test)


def test_progress_comes_about_once_a_second_and_names_every_kind() -> None:
    async def test(stack: Stack) -> None:
        await stack.clock.sleep(10)
        progress = [progress_of(r) for r in await read_all(stack, PROGRESS.name)]
        queues = [p for p in progress if p.kind == "queues" and p.synced]
        assert {p.kind for p in progress} == {topic.name.split(".")[1] for topic in FACTS}
        assert 8 <= len({p.sequence for p in queues}) <= 13

    run(test)


def test_changes_and_deletions_reach_a_follower() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a"))
        await stack.cluster.create(QUEUES, queue("b"))
        await reader.until_queues({"a", "b"})
        await stack.cluster.patch(QUEUES, {"spec": {"weight": 7}}, name="a")
        await stack.cluster.delete(QUEUES, name="b")
        await reader.until_queues({"a"})
        seen = reader.follower.view.get(QUEUES, "a")
        assert isinstance(seen, Queue)
        assert seen.spec.weight == 7

    run(test)


def test_a_restarted_watcher_finds_what_was_deleted_meanwhile() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        for name in ("a", "b"):
            await stack.cluster.create(QUEUES, queue(name))
        await reader.until_queues({"a", "b"})
        before = await read_all(stack, QUEUES.topic)
        stack.kill("watcher")
        await stack.cluster.delete(QUEUES, name="a")
        await stack.cluster.create(QUEUES, queue("c"))
        await reader.until_queues({"b", "c"})
        after = await read_all(stack, QUEUES.topic)
        facts = [r.key for r in after if r not in before and r.key != FENCE_KEY]
        assert sorted(facts) == ["a", "c"], "only the difference is published"
        assert {identity_of(r).stamp.epoch for r in after} == {1, 2}

    run(test)


def test_nobody_is_ready_while_the_watcher_is_dead() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await reader.until_ready()
        stack.pause("watcher")
        await stack.clock.sleep(4)
        assert reader.follower.unready() == ""
        await stack.clock.sleep(4)
        assert "old" in reader.follower.unready()
        stack.resume("watcher")
        await reader.until_ready(60)

    run(test)


def test_wiped_topics_are_born_anew_and_every_view_is_rebuilt() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        first = reader.follower.view.incarnation
        stack.bus.delete_topics()
        await stack.cluster.delete(QUEUES, name="a")
        await stack.cluster.create(QUEUES, queue("b"))
        await reader.until_queues({"b"})
        assert reader.follower.view.incarnation not in (None, first)
        assert reader.rebuilt >= 2

    run(test)


def test_one_lost_topic_gives_all_a_new_incarnation() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        first = reader.follower.view.incarnation
        stack.bus.delete_topics([NODES.topic])
        await stack.until(
            lambda: reader.follower.view.incarnation not in (None, first),
            seconds=60,
            what="another incarnation",
        )
        await reader.until_queues({"a"})

    run(test)


def test_a_gap_in_the_watch_is_closed_by_listing_anew() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        await stack.cluster.delete(QUEUES, name="a")
        made = await stack.cluster.create(QUEUES, queue("b"))
        table = stack.api.store.table(stack.api.registry.for_kind(QUEUES))
        table.compact(int(made["metadata"]["resourceVersion"]))
        await reader.until_queues({"b"})

    run(test)


def test_the_truth_is_written_over_what_a_stale_watcher_writes() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a", weight=5))
        await reader.until_queues({"a"})
        stack.kill("watcher")
        await stack.until(lambda: reader.epoch() == 2, seconds=60, what="a second epoch")
        known = reader.follower.view.entries(QUEUES)["a"]
        stale = msgspec.structs.replace(
            known.object,
            metadata=msgspec.structs.replace(known.object.metadata, resource_version="2"),
        )
        ghost = msgspec.structs.replace(
            known.object,
            metadata=msgspec.structs.replace(known.object.metadata, name="ghost", uid="dead"),
        )
        stamp = Stamp(incarnation=known.identity.stamp.incarnation, epoch=1)
        await stack.bus.publish(
            [
                fact_message(QUEUES, stale, stamp=stamp),
                fact_message(QUEUES, ghost, stamp=stamp),
            ]
        )
        await stack.clock.sleep(5)
        assert reader.queues() == {"a"}
        newest = {r.key: r for r in await read_all(stack, QUEUES.topic)}
        assert identity_of(newest["a"]).stamp.epoch == 2
        assert newest["ghost"].value is None, "compaction would have kept the ghost"

    run(test)


def test_epochs_never_go_back_even_when_the_lease_is_deleted() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        for _ in range(2):
            before = reader.epoch()
            stack.kill("watcher")
            await stack.until(lambda b=before: reader.epoch() > b, seconds=60, what="an epoch")  # type: ignore[misc]
        assert reader.epoch() == 3
        await stack.cluster.delete(LEASES, name="vc-watcher", namespace="volcano-system")
        stack.kill("watcher")
        await stack.cluster.create(QUEUES, queue("b"))
        await reader.until_queues({"a", "b"})
        await stack.until(lambda: reader.epoch() == 4, seconds=60, what="a higher epoch")

    run(test)


def test_the_bus_away_for_minutes_loses_nothing() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        stack.bus.stop()
        await stack.cluster.create(QUEUES, queue("b"))
        await stack.cluster.delete(QUEUES, name="a")
        await stack.clock.sleep(180)
        assert reader.follower.unready() != ""
        stack.bus.start()
        await reader.until_queues({"b"})

    run(test)


def test_a_poison_fact_goes_to_dead_letters_and_the_rest_goes_on() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        known = reader.follower.view.entries(QUEUES)["a"]
        good = fact_message(QUEUES, known.object, stamp=known.identity.stamp)
        newer = msgspec.structs.replace(good, headers={**good.headers, "schema": "99"})
        broken = msgspec.structs.replace(
            good, value=b"\xc1", headers={**good.headers, "resource-version": "0"}
        )
        await stack.bus.publish([newer, broken])
        await stack.cluster.create(QUEUES, queue("b"))
        await reader.until_queues({"a", "b"})
        letters = await read_all(stack, DEAD_LETTERS.name)
        assert len(letters) == 2

    run(test)


def test_the_truth_is_written_over_what_nobody_can_read() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await stack.cluster.create(QUEUES, queue("a"))
        await reader.until_queues({"a"})
        known = reader.follower.view.entries(QUEUES)["a"]
        good = fact_message(QUEUES, known.object, stamp=known.identity.stamp)
        junk = msgspec.structs.replace(good, value=b"junk", headers={})
        keys = ("a", "nothing", "not/a,name=of anything")
        await stack.bus.publish([msgspec.structs.replace(junk, key=key) for key in keys])
        await stack.clock.sleep(5)
        newest = {r.key: r for r in await read_all(stack, QUEUES.topic)}
        assert identity_of(newest["a"]).uid == known.identity.uid
        assert newest["nothing"].value is None
        fresh = Reader(stack)
        await fresh.until_queues({"a"})

    run(test)


@pytest.mark.parametrize("kills", [5])
def test_killed_again_and_again_the_views_converge(kills: int) -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        for round_ in range(kills):
            await stack.cluster.create(QUEUES, queue(f"q{round_}"))
            await stack.clock.sleep(3)
            stack.kill("watcher")
        await reader.until_queues({f"q{n}" for n in range(kills)})

    run(test)
