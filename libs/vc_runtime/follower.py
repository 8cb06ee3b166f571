"""Keeps a view of whole topics fed: for services that read everything.

Opening a follower reads `cluster.progress` first, because nothing can be believed before the
incarnation is known. From then on every poll gives the changes since the last one. When the topics
were wiped or born anew the view is thrown away (`Batch.rebuilt`) and read again from the beginning;
a bus that is away keeps the view as it is, and `unready` says that it is getting old.

Freshness is counted from the moment a poll was *called*, by our own monotonic clock, and only
progress that was published after we began to follow counts. A process that was stopped for a minute
therefore starts from stale, not from what its buffers say.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from vc_bus import BusError, BusUnavailableError, Reader
from vc_messages.codec import CodecError
from vc_messages.dead_letters import dead_letter_message
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import PROGRESS, Topic
from vc_messages.view import Change, IncarnationChanged, View
from vc_model.kinds import Kind
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_runtime.meters import meter_view

POLL_RECORDS_MAX: Final = 2000
UNREADY_POLL_SECONDS: Final = 0.05
"""While the view is not ready we look often: the barrier is passed by progress, not by facts."""

STALLED_SECONDS: Final = 2.0
"""A longer gap between two polls means that we were stopped, and buffers are of the past."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What one poll brought."""

    changes: list[Change] = []
    records: list[Record] = []
    """Of the extra topics, as they are."""
    rebuilt: bool = False
    """The view is new and empty: forget everything that was derived from the old one."""


class ProgressReader:
    """Follows `cluster.progress` into a view, and knows which records are news."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reader: Reader | None = None
        self._live_from = 0
        self._polled_at = 0.0

    async def open(self, view: View) -> None:
        """Read what is there, so that the view knows its incarnation if there is one."""
        bus = self._context.bus
        start = (await bus.start_offsets(PROGRESS.name))[0]
        self._live_from = (await bus.end_offsets(PROGRESS.name))[0]
        self._polled_at = self._context.clock.monotonic()
        self._reader = await bus.reader({TopicPartition(PROGRESS.name, 0): start})
        newest: dict[str, Record] = {}
        position = start
        while position < self._live_from:
            records = await self._reader.poll(max_records=POLL_RECORDS_MAX, wait_seconds=1.0)
            if not records:
                break
            for record in records:
                newest[record.key] = record
                position = record.offset + 1
        await self._take_newest(view, list(newest.values()))

    async def _take_newest(self, view: View, records: list[Record]) -> None:
        """Only the youngest incarnation counts; it is the one written last."""
        now = self._context.clock.monotonic()
        for record in sorted(records, key=lambda r: r.offset, reverse=True):
            try:
                view.apply(record, received_at=now, live=record.offset >= self._live_from)
            except IncarnationChanged:
                continue
            except CodecError as error:
                await send_to_dead_letters(self._context, record, error)

    async def poll(self, view: View, *, wait_seconds: float = 0.0) -> None:
        """Take new progress in; IncarnationChanged when the topics were born anew."""
        assert self._reader is not None
        called_at = self._context.clock.monotonic()
        if called_at - self._polled_at > STALLED_SECONDS:
            self._live_from = (await self._context.bus.end_offsets(PROGRESS.name))[0]
        records = await self._reader.poll(max_records=POLL_RECORDS_MAX, wait_seconds=wait_seconds)
        self._polled_at = self._context.clock.monotonic()
        for record in records:
            try:
                live = record.offset >= self._live_from
                view.apply(record, received_at=called_at, live=live)
            except CodecError as error:
                await send_to_dead_letters(self._context, record, error)

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None


class Follower:
    """A view of all partitions of some kinds, and the raw records of some other topics."""

    def __init__(
        self, context: Context, kinds: Iterable[Kind], *, extra: Sequence[Topic] = ()
    ) -> None:
        self._context = context
        self._kinds = tuple(kinds)
        self._extra = tuple(extra)
        self._progress = ProgressReader(context)
        self._reader: Reader | None = None
        self._failures = 0
        self._trouble = "not started"
        self.view = View(self._kinds)
        meter_view(context, lambda: self.view, name="view")

    def unready(self) -> str:
        """Why nothing may be decided now; empty when it may."""
        return self._trouble or self.view.unready(self._context.clock.monotonic())

    async def poll(self, *, wait_seconds: float = 0.25) -> Batch:
        """What came since the last poll; never raises for a bus that is away or was wiped."""
        try:
            if self._reader is None:
                return await self._open()
            await self._progress.poll(self.view)
            wait = min(wait_seconds, UNREADY_POLL_SECONDS) if self.unready() else wait_seconds
            records = await self._reader.poll(max_records=POLL_RECORDS_MAX, wait_seconds=wait)
            batch = await self._take(records)
            await self._progress.poll(self.view)
        except IncarnationChanged as changed:
            return await self._forget(f"topics were born anew: {changed}")
        except BusUnavailableError as error:
            await self._wait_out(f"bus away: {error}")
            return Batch()
        except BusError as error:
            return await self._forget(f"topics are not what they were: {error}")
        self._failures = 0
        self._trouble = ""
        return batch

    async def _open(self) -> Batch:
        """A fresh view: incarnation first, then everything from the start."""
        self.view = View(self._kinds)
        await self._progress.close()
        await self._progress.open(self.view)
        if self.view.incarnation is None:
            await self._wait_out("no progress on the bus yet")
            return Batch(rebuilt=True)
        positions: dict[TopicPartition, int] = {}
        for topic in [kind.topic for kind in self._kinds] + [topic.name for topic in self._extra]:
            starts = await self._context.bus.start_offsets(topic)
            positions.update({TopicPartition(topic, p): start for p, start in enumerate(starts)})
        self._reader = await self._context.bus.reader(positions)
        self.view.positions.update(positions)
        self._trouble = ""
        return Batch(rebuilt=True)

    async def _take(self, records: list[Record]) -> Batch:
        changes: list[Change] = []
        others: list[Record] = []
        extra = {topic.name for topic in self._extra}
        now = self._context.clock.monotonic()
        for record in records:
            if record.topic in extra:
                others.append(record)
                continue
            try:
                change = self.view.apply(record, received_at=now, live=True)
            except CodecError as error:
                await send_to_dead_letters(self._context, record, error)
                continue
            if change is not None:
                changes.append(change)
        return Batch(changes=changes, records=others)

    async def _forget(self, why: str) -> Batch:
        self._context.log.warning("view thrown away: %s", why)
        await self.close()
        self.view = View(self._kinds)
        await self._wait_out(why)
        return Batch(rebuilt=True)

    async def _wait_out(self, why: str) -> None:
        self._failures += 1
        self._trouble = why
        await self._context.clock.sleep(delay_seconds(self._failures, self._context.chance))

    async def close(self) -> None:
        """Stop following."""
        await self._progress.close()
        if self._reader is not None:
            await self._reader.close()
            self._reader = None


async def send_to_dead_letters(context: Context, record: Record, error: Exception) -> None:
    """Put a record nobody can use aside, and go on with the next."""
    context.log.error(
        "dead letter: %s[%d]@%d %r: %s",
        record.topic,
        record.partition,
        record.offset,
        record.key,
        error,
    )
    message = dead_letter_message(record, service=context.name, error=str(error))
    await context.bus.publish([message])
