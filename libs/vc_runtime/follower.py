"""Keeps a view of the facts fed, and says when one may decide on it.

Opening a follower reads `cluster.progress` first, because nothing can be believed before the
incarnation is known. From then on every poll gives the changes since the last one. When the topics
were wiped or born anew, or when our share of the partitions changed, the view is thrown away
(`Batch.rebuilt`) and read again from the beginning; a bus that is away keeps the view as it is, and
`unready` says that it is getting old.

With a `group` the partitions are shared with the other replicas, without one all of them are read.
Progress is read outside the group, by everybody. With a `warm_start` the first view of the process
is restored from a checkpoint, if there is a good one, and followed on from there.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from vc_bus import BusError, BusForbiddenError, BusUnavailableError
from vc_cluster import ClusterError
from vc_messages.codec import unreadable
from vc_messages.incarnations import foreign_topics
from vc_messages.record import Record
from vc_messages.topics import KINDS_OF_JOBS, Topic
from vc_messages.view import Change, IncarnationChanged, View, ViewState
from vc_model.kinds import Kind
from vc_runtime.backoff import delay_seconds
from vc_runtime.cluster_uid import read_cluster_uid
from vc_runtime.context import Context
from vc_runtime.meters import meter_view
from vc_runtime.progress_reader import ProgressReader
from vc_runtime.refusals import Refusals
from vc_runtime.sources import AllPartitions, SharedPartitions, Source
from vc_runtime.warm_start import WarmStart

UNREADY_POLL_SECONDS: Final = 0.05
"""While the view is not ready we look often: the barrier is passed by progress, not by facts."""

FOREIGN_SECONDS_MAX: Final = 30.0
"""After so long without progress of ours, and with progress of another cluster, the topics are theirs."""


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
        warm_start: WarmStart | None = None,
        rest_seconds: float = 0.0,
    ) -> None:
        assert warm_start is None or not group, "a share cannot be resumed"
        assert not group or set(kinds) <= set(KINDS_OF_JOBS), "others are not split, nor shared"
        self._context = context
        self._kinds = tuple(kinds)
        self._extra = tuple(topic.name for topic in extra)
        facts = [kind.topic for kind in self._kinds]
        self._source: Source = (
            SharedPartitions(context.bus, group, facts=facts, extra=self._extra)
            if group
            else AllPartitions(context.bus, [*facts, *self._extra])
        )
        self._refusals = Refusals(context)
        self._progress = ProgressReader(context, self._refusals)
        self._warm_start = warm_start
        """Tried once: what goes wrong later goes wrong with a checkpoint too."""
        self._restored: ViewState | None = None
        """Waits for the first records, to become the view together with them."""
        self._rest_seconds = rest_seconds
        """Between two polls that bring something. Each costs the broker and us a request that names
        every log, however little there is to read: whoever is in no hurry reads more at a time."""
        self._rested_at = float("-inf")
        self._opened = False
        self._failures = 0
        self._trouble = "not started"
        self._cluster_uid = ""
        self.view = View(self._kinds, partitions=())
        meter_view(context, lambda: self.view, name="share" if group else "view")

    def unready(self, partition: int | None = None) -> str:
        """Why nothing may be decided now, in one partition or in any of ours; empty when it may."""
        if why := self._trouble or self._refusals.why():
            return why
        partitions = self.view.partitions if partition is None else (partition,)
        why = self.view.unready(self._context.clock.monotonic(), partitions=partitions)
        return why and "; ".join(filter(None, (why, self._ignored())))

    def _ignored(self) -> str:
        """What on `cluster.progress` was passed over, and may be why there is none of ours."""
        if self._progress.foreign:
            return foreign_topics(own=self._cluster_uid, owner=self._progress.foreign)
        return self._refusals.why_no_progress()

    async def poll(self, *, wait_seconds: float = 0.25) -> Batch:
        """What came since the last poll; never raises for a bus that is away or was wiped."""
        try:
            if not self._opened:
                return await self._open()
            await self._rest()
            await self._progress.poll(self.view)
            if self._is_ousted():
                return await self._forget(self._ignored())
            wait = min(wait_seconds, UNREADY_POLL_SECONDS) if self.unready() else wait_seconds
            taken = await self._source.poll(wait)
            if taken.records:  # what was told before them counts for them: a relist may have begun
                await self._progress.poll(self.view)
        except BusUnavailableError as error:
            await self._wait_out(f"bus away: {error}")
            return Batch()
        except BusForbiddenError as error:
            return await self._forget(str(error))
        except (BusError, IncarnationChanged) as error:
            return await self._forget(f"topics are not what they were: {error}")
        restored: list[Change] = []
        if taken.assigned is not None:
            try:
                restored = await self._start_over(taken.assigned)
            except (BusError, IncarnationChanged) as error:
                return await self._forget(f"progress is not what it was: {error}")
        self._failures = 0
        self._trouble = "" if self.view.partitions else "no partitions assigned yet"
        if taken.records:
            self._rested_at = self._context.clock.monotonic() + self._rest_seconds
        batch = await self._take(taken.records, rebuilt=taken.assigned is not None)
        return msgspec.structs.replace(batch, changes=restored + batch.changes)

    def _is_ousted(self) -> bool:
        """Whether another cluster writes these topics now: we leave them, and our group with them."""
        if not self._progress.foreign:
            return False
        return self.view.progress_age(self._context.clock.monotonic()) > FOREIGN_SECONDS_MAX

    async def _rest(self) -> None:
        """Let records gather, unless the view has to catch up."""
        rest = self._rested_at - self._context.clock.monotonic()
        if rest > 0 and not self.unready():
            await self._context.clock.sleep(rest)

    async def commit(self) -> None:
        """Everything taken so far has had its effect."""
        await self._source.commit(dict(self.view.positions))

    async def _open(self) -> Batch:
        """Incarnation first: before it is known no record can be believed."""
        try:
            self._cluster_uid = await read_cluster_uid(self._context)
        except ClusterError as error:
            await self._wait_out(f"the cluster does not say which it is: {error}")
            return Batch(rebuilt=True)
        view = View(self._kinds, partitions=(), cluster=self._cluster_uid)
        await self._progress.close()
        await self._progress.open(view)
        if view.incarnation is None:
            await self._wait_out(self._ignored() or "no progress on the bus yet")
        else:
            if self._warm_start is not None:
                self._restored = await self._warm_start.load(view)
            await self._source.open(self._restored.positions if self._restored else {})
            self._opened, self._warm_start = True, None
        return Batch(rebuilt=True)

    async def _start_over(self, ours: frozenset[int]) -> list[Change]:
        """A fresh view of what is ours, and what was restored into it.

        Progress is read again, since it lives in the view. The records that came with the new
        assignment are in our hands already, so a failure here means to begin from the beginning.
        """
        self.view = View(self._kinds, partitions=ours, cluster=self._cluster_uid)
        self._refusals.forget_facts()
        await self._progress.close()
        await self._progress.open(self.view)
        if self.view.incarnation is None:
            raise IncarnationChanged("there is none any more")
        restored, self._restored = self._restored, None
        return self.view.adopt(restored) if restored is not None else []

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
            except IncarnationChanged:
                raise
            except Exception as error:  # noqa: BLE001 - of one record, whatever it is
                await self._refusals.refuse(record, unreadable(error))
                continue
            self._refusals.accepted(record)
            if change is not None:
                changes.append(change)
        return Batch(changes=changes, records=others, rebuilt=rebuilt)

    async def _forget(self, why: str) -> Batch:
        if why != self._trouble:
            self._context.log.warning("view thrown away: %s", why)
        await self.close()
        self._restored = None
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
