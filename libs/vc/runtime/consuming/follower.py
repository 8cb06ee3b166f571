"""Keeps a view of facts up to date, and reports when decisions may be based on it.

Opening a follower reads `cluster.progress` first, because no fact can be accepted before the
incarnation is known. Each poll then returns the changes since the previous one. The view is
discarded (`Batch.rebuilt`) and read again from the beginning when the topics were wiped or created
again, or when our share of the partitions changed. While the bus is unreachable the view stays as
it is, and `unready` reports its age.

With a `group` the partitions are shared with the other replicas; without one all are read. Progress
is read outside the group, by every replica. With a `warm_start` the first view of the process is
restored from a checkpoint, if a valid one exists, and followed from there.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from vc.bus import BusError, BusForbiddenError, BusUnavailableError
from vc.cluster import ClusterError
from vc.messages.codec import unreadable
from vc.messages.incarnations import foreign_topics
from vc.messages.record import Record
from vc.messages.topics import KINDS_OF_JOBS, Topic
from vc.messages.view import Change, IncarnationChanged, View, ViewState
from vc.model.api.kinds import Kind
from vc.model.values.backoff import delay_seconds
from vc.runtime.consuming.progress_reader import ProgressReader
from vc.runtime.consuming.refusals import Refusals
from vc.runtime.consuming.sources import AllPartitions, PartitionSource, SharedPartitions
from vc.runtime.consuming.view_metrics import export_view_metrics
from vc.runtime.consuming.warm_start import WarmStart
from vc.runtime.hosting.cluster_uid import read_cluster_uid
from vc.runtime.hosting.context import Context

UNREADY_POLL_SECONDS: Final = 0.05
"""Poll interval while the view is not ready; the barrier is passed by progress, not by facts."""

FOREIGN_SECONDS_MAX: Final = 30.0
"""After this time without progress of our cluster, and with progress of another one,
the topics belong to that cluster.
"""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one poll."""

    changes: list[Change] = []
    records: list[Record] = []
    """Records of the extra topics, undecoded."""
    rebuilt: bool = False
    """The view is new: drop what was derived from the old one,
    and reconcile every key when it is ready.
    """


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
        self._source: PartitionSource = (
            SharedPartitions(context.bus, group, facts=facts, extra=self._extra)
            if group
            else AllPartitions(context.bus, [*facts, *self._extra])
        )
        self._refusals = Refusals(context)
        self._progress = ProgressReader(context, self._refusals)
        self._warm_start = warm_start
        """Used once; if the view must be rebuilt later,
        the cause would invalidate a checkpoint too.
        """
        self._restored: ViewState | None = None
        """The restored state, kept until the first records arrive and both become the view."""
        self._rest_seconds = rest_seconds
        """Pause between two polls that return records. Each poll is a request that names every
        partition, however little there is to read, so a service without urgency reads more per
        request.
        """
        self._rested_at = float("-inf")
        self._opened = False
        self._failures = 0
        self._unready_reason = "not started"
        self._cluster_uid = ""
        self.view = View(self._kinds, partitions=())
        export_view_metrics(context, lambda: self.view, name="share" if group else "view")

    def unready(self, partition: int | None = None) -> str:
        """The reason why no decision may be made, in one partition or in any of ours;
        empty if it may.
        """
        if why := self._unready_reason or self._refusals.why():
            return why
        partitions = self.view.partitions if partition is None else (partition,)
        why = self.view.unready(self._context.clock.monotonic(), partitions=partitions)
        return why and "; ".join(filter(None, (why, self._ignored())))

    def _ignored(self) -> str:
        """Which records on `cluster.progress` were ignored,
        as a possible cause of missing progress.
        """
        if self._progress.foreign:
            return foreign_topics(own=self._cluster_uid, owner=self._progress.foreign)
        return self._refusals.why_no_progress()

    async def poll(self, *, wait_seconds: float = 0.25) -> Batch:
        """The changes since the last poll. Never raises if the bus is unreachable or was wiped."""
        try:
            if not self._opened:
                return await self._open()
            await self._rest()
            await self._progress.poll(self.view)
            # Reading on would mix the facts of two clusters.
            if self._is_ousted():
                return await self._forget(self._ignored())
            # Progress is read only between polls, so long polls would delay readiness.
            wait = min(wait_seconds, UNREADY_POLL_SECONDS) if self.unready() else wait_seconds
            taken = await self._source.poll(wait)
            # Progress published before the records applies to them: a relist may have begun.
            if taken.records:
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
        self._unready_reason = "" if self.view.partitions else "no partitions assigned yet"
        if taken.records:
            self._rested_at = self._context.clock.monotonic() + self._rest_seconds
        batch = await self._take(taken.records, rebuilt=taken.assigned is not None)
        return msgspec.structs.replace(batch, changes=restored + batch.changes)

    def _is_ousted(self) -> bool:
        """Whether another cluster now writes these topics;
        if so, we stop reading and leave our group.
        """
        if not self._progress.foreign:
            return False
        return self.view.progress_age(self._context.clock.monotonic()) > FOREIGN_SECONDS_MAX

    async def _rest(self) -> None:
        """Let records accumulate, unless the view has to catch up."""
        rest = self._rested_at - self._context.clock.monotonic()
        if rest > 0 and not self.unready():
            await self._context.clock.sleep(rest)

    async def commit(self) -> None:
        """Commit the positions: everything read so far has been processed."""
        await self._source.commit(dict(self.view.positions))

    async def _open(self) -> Batch:
        """Determine the incarnation first: no record can be accepted before it is known."""
        try:
            self._cluster_uid = await read_cluster_uid(self._context)
        except ClusterError as error:
            await self._wait_out(f"the cluster does not say which it is: {error}")
            return Batch(rebuilt=True)
        # This view only finds the incarnation. The one that is used is made with the assignment.
        view = View(self._kinds, partitions=(), cluster=self._cluster_uid)
        await self._progress.close()
        await self._progress.open(view)
        if view.incarnation is None:
            await self._wait_out(self._ignored() or "no progress on the bus yet")
        else:
            if self._warm_start is not None:
                # Positions of a checkpoint are only valid together with its state.
                self._restored = await self._warm_start.load(view)
            await self._source.open(self._restored.positions if self._restored else {})
            self._opened, self._warm_start = True, None
        return Batch(rebuilt=True)

    async def _start_over(self, ours: frozenset[int]) -> list[Change]:
        """Begin a new view of our partitions; returns the changes restored from a checkpoint.

        Progress is read again, because it is part of the view. The records of the new assignment
        were already fetched, so a failure here means to rebuild from the beginning.
        """
        self.view = View(self._kinds, partitions=ours, cluster=self._cluster_uid)
        self._refusals.forget_facts()
        await self._progress.close()
        await self._progress.open(self.view)
        # The wipe happened between the assignment and this read.
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
                # The view does not apply extra topics, but their positions are committed too.
                self.view.positions[record.log] = record.offset + 1
                others.append(record)
                continue
            try:
                change = self.view.apply(record, received_at=now, live=True)
            # Then every record of the view is invalid, not this one alone.
            except IncarnationChanged:
                raise
            except Exception as error:  # noqa: BLE001 - of one record, whatever it is
                # One bad record must not stop the facts behind it.
                await self._refusals.refuse(record, unreadable(error))
                continue
            self._refusals.accepted(record)
            if change is not None:
                changes.append(change)
        self._observe_creations(changes)
        return Batch(changes=changes, records=others, rebuilt=rebuilt)

    def _observe_creations(self, changes: list[Change]) -> None:
        """Let the clock know the newest object, so that no time that is decided from these changes
        is before the creation of an object in them.
        """
        times = (c.after.metadata.creation_timestamp for c in changes if c.after is not None)
        # The API server writes one fixed format, in which the newest time is the largest text.
        newest = max((time for time in times if time), default="")
        if newest:
            self._context.observe_creation(newest)

    async def _forget(self, why: str) -> Batch:
        # The same reason repeats with every attempt and is logged once.
        if why != self._unready_reason:
            self._context.log.warning("view discarded reason=%s", why)
        await self.close()
        # A restored state belongs to the view that is discarded here.
        self._restored = None
        self.view = View(self._kinds, partitions=())
        await self._wait_out(why)
        return Batch(rebuilt=True)

    async def _wait_out(self, why: str) -> None:
        self._failures += 1
        self._unready_reason = why
        await self._context.clock.sleep(delay_seconds(self._failures, self._context.rng))

    async def close(self) -> None:
        """Stop following; leave the group."""
        self._opened = False
        await self._progress.close()
        await self._source.close()
