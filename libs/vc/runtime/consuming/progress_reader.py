"""Follows `cluster.progress` into a view, and distinguishes live records from old ones.

Freshness is measured from the *call* of a poll, by our own monotonic clock, and only progress that
was published after we began to follow counts. A process that was suspended for a minute is
therefore stale at first, whatever its buffers contain.
"""

from typing import Final

from vc.bus import Reader
from vc.messages.codec import unreadable
from vc.messages.incarnations import ForeignClusterError
from vc.messages.record import Record, TopicPartition
from vc.messages.topics import PROGRESS
from vc.messages.view import IncarnationChanged, View
from vc.runtime.consuming.refusals import Refusals
from vc.runtime.hosting.context import Context

POLL_RECORDS_MAX: Final = 2000

OPEN_SECONDS_MAX: Final = 10.0
"""Time limit for the initial read. It is generous, because a busy machine needs seconds to connect
and would otherwise start over forever.
"""

STALLED_SECONDS: Final = 2.0
"""A longer gap between two polls means that the process was suspended, and its buffers are old."""


class ProgressReader:
    """Reads `cluster.progress` into a view."""

    def __init__(self, context: Context, refusals: Refusals) -> None:
        self._context = context
        self._refusals = refusals
        self._reader: Reader | None = None
        self._live_from = 0
        self._polled_at = 0.0
        self.foreign = ""
        """The uid of another cluster whose progress is newer than ours; empty if there is none."""

    async def open(self, view: View) -> None:
        """Read existing progress, so that the view knows its incarnation if there is one."""
        bus = self._context.bus
        start = (await bus.start_offsets(PROGRESS.name))[0]
        # Only records from here on prove that the watcher is alive now.
        self._live_from = (await bus.end_offsets(PROGRESS.name))[0]
        self._polled_at = self._context.clock.monotonic()
        self._reader = await bus.reader({TopicPartition(PROGRESS.name, 0): start})
        newest: dict[str, Record] = {}
        position = start
        deadline = self._polled_at + OPEN_SECONDS_MAX
        while position < self._live_from:
            records = await self._reader.poll(max_records=POLL_RECORDS_MAX, wait_seconds=1.0)
            if not records and self._context.clock.monotonic() > deadline:
                break
            for record in records:
                # Older progress of the same kind has no further meaning.
                newest[record.key] = record
                position = record.offset + 1
        await self._take_newest(view, list(newest.values()))

    async def _take_newest(self, view: View, records: list[Record]) -> None:
        """Apply the newest record of each key, newest first:
        only the incarnation written last counts.
        """
        now = self._context.clock.monotonic()
        foreign = ""
        for record in sorted(records, key=lambda r: r.offset, reverse=True):
            try:
                view.apply(record, received_at=now, live=record.offset >= self._live_from)
            except IncarnationChanged:
                continue
            except Exception as error:  # noqa: BLE001 - of one record, whatever it is
                foreign = foreign or _foreign(error)
                await self._refusals.refuse(record, unreadable(error))
            else:
                self._refusals.accepted(record)
        self.foreign = foreign if view.incarnation is None else ""

    async def poll(self, view: View, *, wait_seconds: float = 0.0) -> None:
        """Apply new progress; raises IncarnationChanged if the topics were created again."""
        assert self._reader is not None
        called_at = self._context.clock.monotonic()
        if called_at - self._polled_at > STALLED_SECONDS:
            # Records that were buffered while the process was suspended do not count as live.
            self._live_from = (await self._context.bus.end_offsets(PROGRESS.name))[0]
        records = await self._reader.poll(max_records=POLL_RECORDS_MAX, wait_seconds=wait_seconds)
        self._polled_at = self._context.clock.monotonic()
        for record in records:
            try:
                live = record.offset >= self._live_from
                view.apply(record, received_at=called_at, live=live)
            except IncarnationChanged:
                raise
            except Exception as error:  # noqa: BLE001 - of one record, whatever it is
                self.foreign = _foreign(error) or self.foreign
                await self._refusals.refuse(record, unreadable(error))
            else:
                # Our own progress is newer, so the topics are ours again.
                self.foreign = "" if record.value is not None else self.foreign
                self._refusals.accepted(record)

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None


def _foreign(error: Exception) -> str:
    return error.cluster if isinstance(error, ForeignClusterError) else ""
