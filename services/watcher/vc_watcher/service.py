"""The shell: lead, prepare the topics, keep every kind in step, tell how far we are.

One *term* lasts from getting the lease until somebody else has it or until the topics are not what they
were. A lease that runs out and is renewed without another holder ends no term: nothing is published
meanwhile, and then it goes on. Each term starts from what the topics and the API server say, never from
memory.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Final

from vc_bus import BusError, BusUnavailableError
from vc_cluster import ClusterError
from vc_messages.codec import CodecError, NewerSchemaError
from vc_messages.facts import FENCE_KEY, Stamp, identity_of
from vc_messages.progress import PROGRESS_PERIOD_SECONDS, progress_message, progress_of
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import ALL, FACTS, PROGRESS
from vc_model.kinds import WATCHED
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_runtime.leader import Leadership
from vc_runtime.problem_events import tell_problems
from vc_watcher.config import Config
from vc_watcher.kindwatch import KindWatch
from vc_watcher.logic import Index
from vc_watcher.meters import Meters
from vc_watcher.outbox import Publisher, TermOverError

READ_BACK_RECORDS_MAX: Final = 5000
LEASE_LOOK_SECONDS: Final = 0.25
OWN_TOPICS_REST_SECONDS: Final = 0.1
"""Between two looks at what we wrote ourselves: each costs a request that names every log."""


class WatcherService:
    """The one reader."""

    name = "watcher"

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self._leadership = Leadership(context)
        self._meters = Meters(context.metrics)
        self._watches: dict[str, KindWatch] = {}
        self._trouble = "not leading yet"
        self._sequence = 0
        self._own_epoch = -1
        """The last one under which this process began to write."""
        self._failures = 0
        """Terms that ended before they told any progress, in a row."""

    def unready(self) -> str:
        """Why the facts may be old."""
        return self._trouble

    async def run(self) -> None:
        """Lead, and start a new term whenever one ends."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._leadership.run())
            group.create_task(self._serve())

    async def _serve(self) -> None:
        while True:
            await self._leadership.wait_until_leading()
            try:
                await self._term()
            except* (TermOverError, BusError) as ended:
                self._trouble = f"term over: {_first(ended)}"
                self._context.log.warning("term over: %s", _first(ended))
            self._failures += 1
            await self._context.clock.sleep(delay_seconds(self._failures, self._context.chance))

    # -- a term ----------------------------------------------------------------------------------

    async def _term(self) -> None:
        stamp = await self._stamp()
        publisher = Publisher(
            self._context,
            may_write=lambda: self._leadership.holds(stamp.epoch),
            regained=lambda: self._leadership.regained(stamp.epoch),
        )
        ends = {topic.name: await self._context.bus.end_offsets(topic.name) for topic in FACTS}
        indices = await self._read_back(stamp, ends)
        await self._outgrow(stamp, indices)
        fenced = await self._fence(indices, publisher, ends)
        self._watches = {
            kind.short: KindWatch(
                self._context,
                self._config,
                index=indices[kind.topic],
                publisher=publisher,
                end_offsets=list(fenced[kind.topic]),
                meters=self._meters,
            )
            for kind in WATCHED
        }
        async with asyncio.TaskGroup() as group:
            group.create_task(self._guard_lease(stamp))
            group.create_task(tell_problems(self._context))
            group.create_task(self._tell_progress(publisher))
            group.create_task(self._guard_topics(indices, fenced))
            for watch in self._watches.values():
                group.create_task(watch.run())

    async def _stamp(self) -> Stamp:
        """Epoch from the lease; the topics' incarnation, or a new one when they are new."""
        created = await self._context.bus.ensure_topics(ALL)
        facts = {topic.name for topic in FACTS} | {PROGRESS.name}
        incarnation = "" if facts.intersection(created) else await self._incarnation()
        if not incarnation:
            incarnation = f"{self._context.chance.getrandbits(64):016x}"
            self._context.log.info("topics are new: incarnation %s", incarnation)
        return Stamp(incarnation=incarnation, epoch=self._leadership.epoch)

    async def _incarnation(self) -> str:
        """Of the newest progress on the bus; empty when there is none, or a newer release wrote it.

        What that one wrote our readers cannot read, deletions included: all is told anew.
        """
        newest = ""
        ends = await self._context.bus.end_offsets(PROGRESS.name)
        async for batch in self._read_to_end(PROGRESS.name, ends):
            for record in batch:
                try:
                    newest = progress_of(record).stamp.incarnation
                except NewerSchemaError as error:
                    newest = ""
                    self._context.log.warning("progress of a newer release: %s", error)
                except CodecError as error:
                    self._context.log.warning("progress that cannot be read: %s", error)
        return newest

    async def _read_to_end(
        self, topic: str, ends: list[int], *, starts: list[int] | None = None
    ) -> AsyncIterator[list[Record]]:
        """Everything a topic holds below the given ends, from its beginning unless told otherwise."""
        starts = starts or await self._context.bus.start_offsets(topic)
        left = {p for p, end in enumerate(ends) if starts[p] < end}
        if not left:
            return
        positions = {TopicPartition(topic, p): starts[p] for p in left}
        reader = await self._context.bus.reader(positions)
        try:
            while left:
                batch = await reader.poll(max_records=READ_BACK_RECORDS_MAX, wait_seconds=1.0)
                yield [r for r in batch if r.offset < ends[r.partition]]
                reached = reader.positions()
                left = {p for p in left if reached[TopicPartition(topic, p)] < ends[p]}
        finally:
            await reader.close()

    async def _read_back(self, stamp: Stamp, ends: dict[str, list[int]]) -> dict[str, Index]:
        """What the topics say, so that only the difference is published."""
        indices: dict[str, Index] = {}
        for kind in WATCHED:
            index = indices[kind.topic] = Index(kind, stamp=stamp)
            async for batch in self._read_to_end(kind.topic, ends[kind.topic]):
                for record in batch:
                    index.replay(record)
        return indices

    async def _outgrow(self, stamp: Stamp, indices: dict[str, Index]) -> None:
        """Epochs never go back, even when somebody deletes the Lease that counts them."""
        highest = max(index.highest_epoch for index in indices.values())
        if highest < stamp.epoch or self._own_epoch == stamp.epoch:
            self._own_epoch = stamp.epoch
            return
        try:
            await self._leadership.raise_epoch(highest)
        except ClusterError as error:
            raise TermOverError(f"epoch {stamp.epoch} is on the bus already: {error}") from None
        raise TermOverError(f"epoch {stamp.epoch} is on the bus already; the lease was made anew")

    async def _fence(
        self, indices: dict[str, Index], publisher: Publisher, ends: dict[str, list[int]]
    ) -> dict[str, list[int]]:
        """Fence every partition, and read what came in before the fence; where that stands."""
        fenced: dict[str, list[int]] = {}
        for topic, index in indices.items():
            offsets = await publisher.publish(index.fences())
            await self._read_before_fence(index, ends[topic], offsets)
            fenced[topic] = [offset + 1 for offset in offsets]
        return fenced

    async def _read_before_fence(self, index: Index, ends: list[int], offsets: list[int]) -> None:
        """What an older watcher wrote since we read back, and every reader believes."""
        if ends == offsets:
            return
        async for batch in self._read_to_end(index.kind.topic, offsets, starts=ends):
            for record in batch:
                index.replay(record)
        if index.highest_epoch > index.stamp.epoch:
            raise TermOverError(f"epoch {index.highest_epoch} writes to {index.kind.topic}")

    # -- what runs beside the kinds --------------------------------------------------------------

    async def _guard_lease(self, stamp: Stamp) -> None:
        """End the term when somebody else has the lease."""
        lease, epoch = self._leadership, stamp.epoch
        while await lease.regained(epoch):
            await self._context.clock.sleep(LEASE_LOOK_SECONDS)
            if not lease.holds(epoch) and not lease.passed_on(epoch):
                self._trouble = "the lease ran out: nothing is published until it is renewed"
                self._context.log.warning(self._trouble)
        raise TermOverError("lost the lease")

    async def _tell_progress(self, publisher: Publisher) -> None:
        """About once a second, and at once when a sync ends or a kind loses track."""
        while True:
            self._sequence += 1
            watches = self._watches.values()
            progress = [watch.progress(self._sequence) for watch in watches]
            for watch in watches:
                watch.turned.clear()
            await publisher.publish([progress_message(p) for p in progress])
            for watch, told in zip(watches, progress, strict=True):
                watch.told(told)
            self._failures = 0
            waiting = [p.kind for p in progress if not p.synced]
            self._trouble = f"not synced: {', '.join(waiting)}" if waiting else ""
            await self._wait_for_turn_or_period()

    async def _wait_for_turn_or_period(self) -> None:
        waiters = [asyncio.ensure_future(watch.turned.wait()) for watch in self._watches.values()]
        try:
            await asyncio.wait(
                waiters,
                timeout=PROGRESS_PERIOD_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for waiter in waiters:
                waiter.cancel()

    async def _guard_topics(
        self,
        indices: dict[str, Index],
        fenced: dict[str, list[int]],
    ) -> None:
        """Read our own topics: write the truth over anything foreign, notice a wipe."""
        positions = {
            TopicPartition(topic, partition): offset
            for topic, offsets in fenced.items()
            for partition, offset in enumerate(offsets)
        }
        reader = await self._context.bus.reader(positions)
        try:
            while True:
                try:
                    records = await reader.poll(
                        max_records=READ_BACK_RECORDS_MAX, wait_seconds=PROGRESS_PERIOD_SECONDS
                    )
                except BusUnavailableError as error:
                    self._context.log.warning("own topics cannot be read: %s", error)
                    await self._context.clock.sleep(PROGRESS_PERIOD_SECONDS)
                    continue
                for record in records:
                    self._check_own(record, indices[record.topic])
                if records:
                    await self._context.clock.sleep(OWN_TOPICS_REST_SECONDS)
        finally:
            await reader.close()

    def _check_own(self, record: Record, index: Index) -> None:
        try:
            identity = identity_of(record)
        except CodecError as error:
            if record.key != FENCE_KEY:
                self._context.log.warning(
                    "%s %r is overwritten: %s", record.topic, record.key, error
                )
                index.note_unreadable(record)
                self._watches[index.kind.short].settle(record.key)
            elif isinstance(error, NewerSchemaError):  # our next term, if any, fences again
                raise TermOverError(f"a newer release writes to {record.topic}") from None
            return
        if identity.stamp.epoch > index.stamp.epoch:
            raise TermOverError(f"epoch {identity.stamp.epoch} writes to {record.topic}")
        if identity.stamp == index.stamp or record.key == FENCE_KEY:
            return
        self._context.log.warning(
            "foreign record %s %r of epoch %d is overwritten",
            record.topic,
            record.key,
            identity.stamp.epoch,
        )
        index.note_foreign(record.key, uid=identity.uid, partition=record.partition)
        self._watches[index.kind.short].settle(record.key)


def _first(error: BaseException) -> BaseException:
    """The first of what went wrong together: a group of errors says nothing by itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def build(context: Context, config: Config | None = None) -> WatcherService:
    """The service on its adapters."""
    return WatcherService(context, config or Config.from_env(os.environ))
