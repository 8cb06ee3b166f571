"""Checkpoints of a view and warm starts: who writes, how often, and what never waits for the cache."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from tests.simulation.stack import Stack
from vc.clock import run_virtual
from vc.messages.facts import Stamp
from vc.messages.progress import Progress, progress_message
from vc.messages.record import Record
from vc.messages.view import View
from vc.model.api.kinds import NODES, QUEUES
from vc.model.api.struct import JsonObject
from vc.runtime.consuming.checkpoint_writer import (
    CHECKPOINT_PERIOD_SECONDS,
    CHECKPOINT_REFRESH_SECONDS,
    CheckpointWriter,
)
from vc.runtime.consuming.follower import Batch, Follower
from vc.runtime.consuming.warm_start import LOAD_SECONDS_MAX, WarmStart
from vc.snapshot import Checkpoint
from vc.snapshot.memory import MemorySnapshot
from vc.snapshot.validity import AGE_SECONDS_MAX

NAME: Final = "test"


class CountingSnapshot(MemorySnapshot):
    """Counts what is written, and answers as slowly as it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.saves = 0
        self.load_seconds = 0.0

    async def save(self, name: str, checkpoint: Checkpoint) -> None:
        self.saves += 1
        await super().save(name, checkpoint)

    async def load(self, name: str) -> Checkpoint | None:
        await asyncio.sleep(self.load_seconds)
        return await super().load(name)


class Replica:
    """A follower with a writer beside it."""

    def __init__(self, stack: Stack, snapshot: CountingSnapshot) -> None:
        self.context = context = stack.context("test", snapshot=snapshot)
        self.leading = True
        self.batches: list[Batch] = []
        self.follower = Follower(context, [QUEUES, NODES], warm_start=WarmStart(context, NAME))
        self._writer = CheckpointWriter(
            context,
            NAME,
            view=lambda: self.follower.view,
            may_write=lambda: self.leading and not self.follower.unready(),
        )
        self._tasks: list[asyncio.Task[None]] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._writer.run())]
        try:
            yield
        finally:
            for task in self._tasks:
                task.cancel()

    async def _follow(self) -> None:
        while True:
            batch = await self.follower.poll()
            if batch.rebuilt or batch.changes:
                self.batches.append(batch)

    @property
    def ready(self) -> bool:
        return not self.follower.unready()

    def queues(self) -> set[str]:
        return {queue.metadata.name for queue in self.follower.view.objects(QUEUES)}


def queue(name: str) -> JsonObject:
    return {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind, "metadata": {"name": name}}


def test_a_checkpoint_is_written_when_something_changed_once_a_period() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            snapshot = CountingSnapshot()
            replica = Replica(stack, snapshot)
            with replica.running():
                await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS * 1.5)
                assert snapshot.saves == 1
                await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS * 5)
                assert snapshot.saves == 1, "nothing changed"
                for number in range(5):
                    await stack.cluster.create(QUEUES, queue(f"q{number}"))
                    await stack.clock.sleep(1)
                await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS)
                assert snapshot.saves in (2, 3), "once a period, however much changed"

    run_virtual(main())


def test_who_does_not_lead_writes_nothing() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            snapshot = CountingSnapshot()
            replica = Replica(stack, snapshot)
            replica.leading = False
            with replica.running():
                await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS * 3)
                assert replica.ready
                assert snapshot.saves == 0
                replica.leading = True
                await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS)
                assert snapshot.saves == 1

    run_virtual(main())


def test_where_nothing_happens_the_checkpoint_is_renewed_before_it_is_too_old() -> None:
    async def main() -> None:
        async with Stack(services=[]) as stack:
            snapshot = CountingSnapshot()
            replica = Replica(stack, snapshot)
            stamp = Stamp(incarnation="one", epoch=1)
            ends = [0]
            told = Progress(
                kind=QUEUES.short, stamp=stamp, sequence=1, synced=True,
                resource_version="1", end_offsets=ends,
            )  # fmt: skip
            record = Record(offset=0, **msgspec.structs.asdict(progress_message(told)))
            view = View([QUEUES])
            view.apply(record, received_at=0.0, live=True)
            writer = CheckpointWriter(
                replica.context, NAME, view=lambda: view, may_write=lambda: True
            )
            task = asyncio.create_task(writer.run())
            await stack.clock.sleep(CHECKPOINT_REFRESH_SECONDS - 1)
            assert snapshot.saves == 1
            await stack.clock.sleep(3 * CHECKPOINT_PERIOD_SECONDS)
            assert snapshot.saves == 2
            task.cancel()

    assert CHECKPOINT_REFRESH_SECONDS < AGE_SECONDS_MAX
    run_virtual(main())


def test_the_first_changes_are_those_of_the_checkpoint_then_what_came_since() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            snapshot = CountingSnapshot()
            await stack.cluster.create(QUEUES, queue("kept"))
            await stack.cluster.create(QUEUES, queue("deleted"))
            first = Replica(stack, snapshot)
            with first.running():
                await stack.until(lambda: snapshot.saves == 1, seconds=30, what="written")
            await stack.cluster.delete(QUEUES, name="deleted")
            await stack.cluster.create(QUEUES, queue("since"))
            await stack.clock.sleep(2)

            again = Replica(stack, snapshot)
            with again.running():
                await stack.until(lambda: again.ready, seconds=10, what="ready")
                restored = next(batch for batch in again.batches if batch.changes)
                assert restored.rebuilt
                names = [change.key for change in restored.changes if change.kind is QUEUES]
                assert {"kept", "deleted"} <= set(names)
                assert all(change.before is None for change in restored.changes[: len(names)])
                assert {"kept", "since"} <= again.queues()
                assert "deleted" not in again.queues()

    run_virtual(main())


def test_a_restored_view_waits_for_live_progress_like_any_other() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            snapshot = CountingSnapshot()
            first = Replica(stack, snapshot)
            with first.running():
                await stack.until(lambda: snapshot.saves == 1, seconds=30, what="written")
            stack.pause("watcher")
            await stack.clock.sleep(1)
            again = Replica(stack, snapshot)
            with again.running():
                await stack.clock.sleep(30)
                assert list(again.follower.view.objects(NODES))
                assert "no live progress" in again.follower.unready()
                stack.resume("watcher")
                await stack.until(lambda: again.ready, seconds=60, what="ready")

    run_virtual(main())


def test_a_slow_cache_holds_a_start_up_for_a_bounded_time() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            await stack.clock.sleep(5)
            snapshot = CountingSnapshot()
            snapshot.load_seconds = 600
            replica = Replica(stack, snapshot)
            with replica.running():
                await stack.until(
                    lambda: replica.ready, seconds=LOAD_SECONDS_MAX + 3, what="cold start"
                )

    run_virtual(main())


def test_a_bus_that_goes_away_right_after_the_opening_is_followed_when_it_is_back() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            snapshot = CountingSnapshot()
            await stack.cluster.create(QUEUES, queue("kept"))
            first = Replica(stack, snapshot)
            with first.running():
                await stack.until(lambda: snapshot.saves == 1, seconds=30, what="written")
            again = Replica(stack, snapshot)
            await again.follower.poll()  # opened, nothing read
            stack.bus.stop()
            await again.follower.poll()
            stack.bus.start()
            with again.running():
                await stack.until(lambda: again.ready, seconds=60, what="ready")
                assert "kept" in again.queues()

    run_virtual(main())
