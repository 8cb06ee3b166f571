"""Follows `cluster.progress` into a view, and knows which records are news.

Freshness is counted from the moment a poll was *called*, by our own monotonic clock, and only
progress that was published after we began to follow counts. A process that was stopped for a minute
therefore starts from stale, not from what its buffers say.
"""

from typing import Final

from vc_bus import Reader
from vc_messages.codec import unreadable
from vc_messages.incarnations import ForeignClusterError
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import PROGRESS
from vc_messages.view import IncarnationChanged, View
from vc_runtime.context import Context
from vc_runtime.refusals import Refusals

POLL_RECORDS_MAX: Final = 2000

OPEN_SECONDS_MAX: Final = 10.0
"""To read what is there: a busy machine takes seconds to connect, and would begin again for ever."""

STALLED_SECONDS: Final = 2.0
"""A longer gap between two polls means that we were stopped, and buffers are of the past."""


class ProgressReader:
    """Follows `cluster.progress` into a view, and knows which records are news."""

    def __init__(self, context: Context, refusals: Refusals) -> None:
        self._context = context
        self._refusals = refusals
        self._reader: Reader | None = None
        self._live_from = 0
        self._polled_at = 0.0
        self.foreign = ""
        """The uid of another cluster that told progress after ours was last told."""

    async def open(self, view: View) -> None:
        """Read what is there, so that the view knows its incarnation if there is one."""
        bus = self._context.bus
        start = (await bus.start_offsets(PROGRESS.name))[0]
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
                newest[record.key] = record
                position = record.offset + 1
        await self._take_newest(view, list(newest.values()))

    async def _take_newest(self, view: View, records: list[Record]) -> None:
        """Only the youngest incarnation counts; it is the one written last."""
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
            except IncarnationChanged:
                raise
            except Exception as error:  # noqa: BLE001 - of one record, whatever it is
                self.foreign = _foreign(error) or self.foreign
                await self._refusals.refuse(record, unreadable(error))
            else:
                self.foreign = "" if record.value is not None else self.foreign
                self._refusals.accepted(record)

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None


def _foreign(error: Exception) -> str:
    return error.cluster if isinstance(error, ForeignClusterError) else ""
