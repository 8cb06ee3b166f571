"""Keeps a view of the facts fed, and says when one may decide on it.

Opening a follower reads `cluster.progress` first, because nothing can be believed before the
incarnation is known. From then on every poll gives the changes since the last one. When the topics
were wiped or born anew, or when our share of the partitions changed, the view is thrown away
(`Batch.rebuilt`) and read again from the beginning; a bus that is away keeps the view as it is, and
`unready` says that it is getting old.

With a `group` the partitions are shared with the other replicas, without one all of them are read.
Progress is read outside the group, by everybody.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from vc_bus import BusError, BusUnavailableError
from vc_messages.codec import CodecError
from vc_messages.record import Record
from vc_messages.topics import Topic
from vc_messages.view import Change, IncarnationChanged, View
from vc_model.kinds import Kind
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_runtime.letters import send_to_dead_letters
from vc_runtime.meters import meter_view
from vc_runtime.progress_reader import ProgressReader
from vc_runtime.sources import AllPartitions, SharedPartitions, Source

UNREADY_POLL_SECONDS: Final = 0.05
"""While the view is not ready we look often: the barrier is passed by progress, not by facts."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What one poll brought."""

    changes: list[Change] = []
    records: list[Record] = []
    """Of the extra topics, as they are."""
    rebuilt: bool = False
    """The view is new: forget what was derived from the old one, look at every key when ready."""


class Follower:
    """A view of some kinds, and the raw records of some other topics."""

    def __init__(
        self,
        context: Context,
        kinds: Iterable[Kind],
        *,
        extra: Sequence[Topic] = (),
        group: str = "",
    ) -> None:
        self._context = context
        self._kinds = tuple(kinds)
        self._extra = tuple(topic.name for topic in extra)
        facts = [kind.topic for kind in self._kinds]
        self._source: Source = (
            SharedPartitions(context.bus, group, facts=facts, extra=self._extra)
            if group
            else AllPartitions(context.bus, [*facts, *self._extra])
        )
        self._progress = ProgressReader(context)
        self._opened = False
        self._failures = 0
        self._trouble = "not started"
        self.view = View(self._kinds, partitions=())
        meter_view(context, lambda: self.view, name="share" if group else "view")

    def unready(self, partition: int | None = None) -> str:
        """Why nothing may be decided now, in one partition or in any of ours; empty when it may."""
        if self._trouble:
            return self._trouble
        partitions = self.view.partitions if partition is None else (partition,)
        return self.view.unready(self._context.clock.monotonic(), partitions=partitions)

    async def poll(self, *, wait_seconds: float = 0.25) -> Batch:
        """What came since the last poll; never raises for a bus that is away or was wiped."""
        try:
            if not self._opened:
                return await self._open()
            await self._progress.poll(self.view)
            wait = min(wait_seconds, UNREADY_POLL_SECONDS) if self.unready() else wait_seconds
            taken = await self._source.poll(wait)
        except BusUnavailableError as error:
            await self._wait_out(f"bus away: {error}")
            return Batch()
        except (BusError, IncarnationChanged) as error:
            return await self._forget(f"topics are not what they were: {error}")
        if taken.assigned is not None:
            why = await self._start_over(taken.assigned)
            if why:
                return await self._forget(why)
        self._failures = 0
        self._trouble = "" if self.view.partitions else "no partitions assigned yet"
        return await self._take(taken.records, rebuilt=taken.assigned is not None)

    async def commit(self) -> None:
        """Everything taken so far has had its effect."""
        await self._source.commit(dict(self.view.positions))

    async def _open(self) -> Batch:
        """Incarnation first: before it is known no record can be believed."""
        view = View(self._kinds, partitions=())
        await self._progress.close()
        await self._progress.open(view)
        if view.incarnation is None:
            await self._wait_out("no progress on the bus yet")
        else:
            await self._source.open()
            self._opened = True
        return Batch(rebuilt=True)

    async def _start_over(self, ours: frozenset[int]) -> str:
        """A fresh view of what is ours; why it could not be had, or nothing.

        Progress is read again, since it lives in the view. The records that came with the new
        assignment are in our hands already, so a failure here means to begin from the beginning.
        """
        self.view = View(self._kinds, partitions=ours)
        try:
            await self._progress.close()
            await self._progress.open(self.view)
        except BusError as error:
            return f"progress cannot be read: {error}"
        return "" if self.view.incarnation is not None else "no progress on the bus any more"

    async def _take(self, records: list[Record], *, rebuilt: bool) -> Batch:
        changes: list[Change] = []
        others: list[Record] = []
        now = self._context.clock.monotonic()
        for record in records:
            if record.topic in self._extra:
                self.view.positions[record.log] = record.offset + 1
                others.append(record)
                continue
            try:
                change = self.view.apply(record, received_at=now, live=True)
            except CodecError as error:
                await send_to_dead_letters(self._context, record, error)
                continue
            if change is not None:
                changes.append(change)
        return Batch(changes=changes, records=others, rebuilt=rebuilt)

    async def _forget(self, why: str) -> Batch:
        self._context.log.warning("view thrown away: %s", why)
        await self.close()
        self.view = View(self._kinds, partitions=())
        await self._wait_out(why)
        return Batch(rebuilt=True)

    async def _wait_out(self, why: str) -> None:
        self._failures += 1
        self._trouble = why
        await self._context.clock.sleep(delay_seconds(self._failures, self._context.chance))

    async def close(self) -> None:
        """Stop following; leave the group."""
        self._opened = False
        await self._progress.close()
        await self._source.close()
