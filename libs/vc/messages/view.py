"""The view: which facts are accepted, and when a decision may be based on them.

A `View` is to a service what an informer's store is to a controller. It receives records in the
order they were read and keeps the newest object of each key, by kind. It ignores records of another
incarnation, records that an older watcher wrote after a newer one fenced the partition, and
tombstones for another uid than the stored one. `unready` returns why no decision may be made yet: it
implements the barrier (docs/protocol.md 6) and the staleness rule (docs/protocol.md 7).

The view is pure: the caller passes the monotonic time at which a record was read (`received_at`)
and the current time. It never uses the clock of another machine.
"""

import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from vc.messages.codec import CodecError
from vc.messages.facts import FENCE_KEY, Identity, identity_of, object_of
from vc.messages.incarnations import ForeignClusterError, cluster_of, is_foreign
from vc.messages.progress import PROGRESS_STALE_SECONDS, Progress, progress_of
from vc.messages.record import Record, TopicPartition
from vc.messages.topics import PARTITIONS, PROGRESS, fact_partitions
from vc.model.api.kinds import BY_TOPIC, Kind
from vc.model.api.meta import ApiObject
from vc.model.values.bounded import read_version


class ViewEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An accepted object, its identity and its partition."""

    object: ApiObject
    identity: Identity
    partition: int


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The effect of a record on the view. `after` is None if the object was deleted."""

    kind: Kind
    key: str
    partition: int
    before: ApiObject | None
    after: ApiObject | None
    traceparent: str = ""


class ViewState(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a view at one moment, with the positions in the logs.

    Progress is not included: it permits decisions, and only live progress may do that.
    """

    incarnation: str
    epoch: int
    """The epoch of the newest progress at that moment."""
    positions: dict[TopicPartition, int]
    """The next offset of every log of the view's kinds."""
    epochs: dict[TopicPartition, int]
    """The highest epoch seen in each log; logs without any are absent."""
    tables: dict[str, dict[str, ViewEntry]]
    """Entries by topic and key."""


class IncarnationChanged(Exception):  # noqa: N818 - an event, not a fault
    """The topics were created again: discard the view and read from the beginning."""


class View:
    """The facts of some kinds, in some partitions."""

    def __init__(
        self,
        kinds: Iterable[Kind],
        *,
        partitions: Iterable[int] = range(PARTITIONS),
        cluster: str = "",
    ) -> None:
        """`cluster` is the uid of our cluster: progress of another is rejected.
        Empty accepts any.
        """
        self.kinds = tuple(kinds)
        self.cluster = cluster
        self.partitions = frozenset(partitions)
        self._logs = {kind.topic: frozenset(range(fact_partitions(kind))) for kind in self.kinds}
        """The partitions of each topic."""
        self.incarnation: str | None = None
        """The incarnation of the newest progress; None until the first was read.
        Until then no fact is accepted.
        """
        self.positions: dict[TopicPartition, int] = {}
        """The next offset to read; never decreases within one incarnation."""
        self._passed_over = False
        """Whether facts arrived before any progress;
        they were ignored, so they must be read again.
        """
        self._tables: dict[str, dict[str, ViewEntry]] = {kind.topic: {} for kind in self.kinds}
        self._epochs: dict[TopicPartition, int] = {}
        self._progress: dict[str, Progress] = {}
        self._progress_received_at: dict[str, float] = {}

    # -- reading ---------------------------------------------------------------------------------

    def objects(self, kind: Kind) -> Iterator[ApiObject]:
        """All objects of a kind, in no particular order."""
        return (entry.object for entry in self._tables[kind.topic].values())

    def get(self, kind: Kind, key: str) -> ApiObject | None:
        """The object of that key, if there is one."""
        entry = self._tables[kind.topic].get(key)
        return entry.object if entry else None

    def entries(self, kind: Kind) -> Mapping[str, ViewEntry]:
        """Objects with their identities, by key."""
        return self._tables[kind.topic]

    def progress(self, kind: Kind) -> Progress | None:
        """The newest progress of a kind."""
        return self._progress.get(kind.short)

    @property
    def epoch(self) -> int:
        """The epoch of the newest progress; -1 before the first."""
        return max((p.stamp.epoch for p in self._progress.values()), default=-1)

    # -- as a whole ------------------------------------------------------------------------------

    def state(self) -> ViewState | None:
        """A copy that later records do not change; None before the incarnation is known.

        Entries are immutable, so the tables are copied in about a millisecond.
        """
        if self.incarnation is None:
            return None
        logs = [
            TopicPartition(kind.topic, p)
            for kind in self.kinds
            for p in self.partitions & self._logs[kind.topic]
        ]
        return ViewState(
            incarnation=self.incarnation,
            epoch=self.epoch,
            positions={log: self.positions.get(log, 0) for log in logs},
            epochs=dict(self._epochs),
            tables={topic: table.copy() for topic, table in self._tables.items()},
        )

    def adopt(self, state: ViewState) -> list[Change]:
        """Adopt the state of another view of these kinds; returns every object in it as a change.

        Only valid for a view that has read progress and no fact yet. Raises IncarnationChanged if
        the state is of another incarnation.
        """
        # Its offsets point into logs that no longer exist (docs/protocol.md 3).
        if self.incarnation != state.incarnation:
            raise IncarnationChanged(self.incarnation)
        self.positions.update(state.positions)
        # Without them, late records of a fenced watcher would be accepted after a warm start.
        self._epochs = dict(state.epochs)
        changes: list[Change] = []
        for kind in self.kinds:
            table = self._tables[kind.topic] = state.tables[kind.topic].copy()
            changes.extend(_news(kind, key, entry) for key, entry in table.items())
        return changes

    # -- applying records ------------------------------------------------------------------------

    def apply(self, record: Record, *, received_at: float, live: bool) -> Change | None:
        """Apply one record. `live` means that it was published after we began to follow.

        Raises CodecError for a record that cannot be used: the caller sends it to the dead letters,
        and the position has advanced. Raises IncarnationChanged if everything must be read again.
        """
        # Positions advance first, so that a record that raises is not read again.
        self.positions[record.log] = record.offset + 1
        if record.topic == PROGRESS.name:
            # The watcher deletes records of other writers there with tombstones.
            if record.value is not None:
                self._take_progress(progress_of(record), received_at=received_at, live=live)
            return None
        return self._take_fact(record)

    def _take_progress(self, progress: Progress, *, received_at: float, live: bool) -> None:
        if is_foreign(progress.stamp.incarnation, own=self.cluster):
            raise ForeignClusterError(cluster_of(progress.stamp.incarnation))
        if self.incarnation is None:
            # Ignored facts of this incarnation would be missing from the view.
            if self._passed_over:
                raise IncarnationChanged(progress.stamp.incarnation)
            self.incarnation = progress.stamp.incarnation
        elif progress.stamp.incarnation != self.incarnation:
            raise IncarnationChanged(progress.stamp.incarnation)
        known = self._progress.get(progress.kind)
        # An older watcher may still write after its term; its progress must not replace newer one.
        if known is not None and _order(progress) <= _order(known):
            return
        self._progress[progress.kind] = progress
        # Progress that was in the log before us only describes the past. Counted as fresh, it would
        # permit decisions although the watcher died long ago (docs/protocol.md 7).
        if live:
            self._progress_received_at[progress.kind] = received_at

    def _take_fact(self, record: Record) -> Change | None:
        table = self._tables.get(record.topic)
        kind = BY_TOPIC.get(record.topic)
        if table is None or kind is None:
            raise CodecError(f"{record.topic} is not among the kinds of this view")
        # Headers are judged first, so that a fenced record or a duplicate costs no decoding.
        identity = identity_of(record)
        # A fence has no object; its work is done when `_accepts` has raised the epoch.
        if not self._accepts(record, identity) or record.key == FENCE_KEY:
            return None
        known = table.get(record.key)
        if record.value is None:
            return self._delete(kind, record, identity, known)
        # Duplicates, and older versions from another partition, must not count as changes.
        if known is not None and _known_better(known, identity, record.partition):
            return None
        obj = object_of(record)
        table[record.key] = ViewEntry(object=obj, identity=identity, partition=record.partition)
        return Change(
            kind=kind,
            key=record.key,
            partition=record.partition,
            before=known.object if known else None,
            after=obj,
            traceparent=identity.traceparent,
        )

    def _accepts(self, record: Record, identity: Identity) -> bool:
        """Whether the incarnation matches and no newer watcher
        has written to this partition before.
        """
        if identity.stamp.incarnation != self.incarnation:
            # Before the first progress it is unknown whether the fact counts, so it must be read
            # again later. A fact of an incarnation that is known to differ never counts.
            self._passed_over |= self.incarnation is None
            return False
        # Fences are per partition, so epochs are compared within one log only.
        highest = self._epochs.get(record.log, -1)
        # A watcher that lost its lease may still have records in flight behind the fence.
        if identity.stamp.epoch < highest:
            return False
        self._epochs[record.log] = identity.stamp.epoch
        return True

    def _delete(
        self, kind: Kind, record: Record, identity: Identity, known: ViewEntry | None
    ) -> Change | None:
        """Apply a tombstone; it deletes only the record for which it was written."""
        # A late tombstone of a former object, or of the partition of a former owner, must not
        # delete the entry that has replaced it (docs/protocol.md 1).
        if (
            known is None
            or known.identity.uid != identity.uid
            or known.partition != record.partition
        ):
            return None
        del self._tables[kind.topic][record.key]
        return Change(
            kind=kind,
            key=record.key,
            partition=record.partition,
            before=known.object,
            after=None,
            traceparent=known.identity.traceparent,
        )

    def drop_partition(self, partition: int) -> None:
        """Drop the objects of a partition that is no longer assigned to us."""
        self.partitions -= {partition}
        for topic, table in self._tables.items():
            for key in [k for k, entry in table.items() if entry.partition == partition]:
                del table[key]
            # When the partition returns, it is read from its beginning, with the epochs found there
            # (docs/protocol.md 9).
            self.positions.pop(TopicPartition(topic, partition), None)
            self._epochs.pop(TopicPartition(topic, partition), None)

    # -- lag -------------------------------------------------------------------------------------

    def behind(self) -> int:
        """The number of records that the newest progress covers and that were not read yet."""
        missing = 0
        for kind in self.kinds:
            progress = self._progress.get(kind.short)
            if progress is None:
                continue
            for partition in self.partitions & self._logs[kind.topic]:
                read = self.positions.get(TopicPartition(kind.topic, partition), 0)
                # Facts may be ahead of the newest progress; that is not negative lag.
                missing += max(0, progress.end_offsets[partition] - read)
        return missing

    def progress_age(self, now: float) -> float:
        """Seconds since the last live progress of the kind that was silent longest;
        infinite before the first.
        """
        received = [self._progress_received_at.get(kind.short) for kind in self.kinds]
        return max((now - at if at is not None else math.inf for at in received), default=math.inf)

    # -- readiness -------------------------------------------------------------------------------

    def unready(self, now: float, *, partitions: Iterable[int] | None = None) -> str:
        """The reason why no decision may be made yet; empty if it may. `now` is monotonic."""
        # A partition that is complete may be decided on while others are still being read.
        needed = self.partitions if partitions is None else frozenset(partitions)
        epoch = self.epoch
        for kind in self.kinds:
            why = self._unready_kind(kind, epoch=epoch, partitions=needed)
            if why:
                return why
        return self._stale(now)

    def _unready_kind(self, kind: Kind, *, epoch: int, partitions: frozenset[int]) -> str:
        progress = self._progress.get(kind.short)
        if progress is None:
            return f"no progress of {kind.short} yet"
        # Kinds of different epochs come from different watchers, and are not consistent.
        if progress.stamp.epoch != epoch:
            return f"progress of {kind.short} is of epoch {progress.stamp.epoch}, not {epoch}"
        if not progress.synced:
            return f"{kind.short} not synced"
        # Kinds that are not split have only partition 0, whatever our share is.
        for partition in sorted(partitions & self._logs[kind.topic]):
            read = self.positions.get(TopicPartition(kind.topic, partition), 0)
            if read < progress.end_offsets[partition]:
                behind = progress.end_offsets[partition] - read
                return f"{kind.topic}[{partition}] is {behind} records behind"
        return ""

    def _stale(self, now: float) -> str:
        for kind in self.kinds:
            received_at = self._progress_received_at.get(kind.short)
            # Progress from before our start does not prove that the watcher is alive.
            if received_at is None:
                return f"no live progress of {kind.short} yet"
            if now - received_at > PROGRESS_STALE_SECONDS:
                return f"progress of {kind.short} is {now - received_at:.1f} s old"
        return ""


def _news(kind: Kind, key: str, entry: ViewEntry) -> Change:
    return Change(
        kind=kind,
        key=key,
        partition=entry.partition,
        before=None,
        after=entry.object,
        traceparent=entry.identity.traceparent,
    )


def _order(progress: Progress) -> tuple[int, int]:
    # The epoch decides first, because a new watcher counts its announcements from the beginning.
    return (progress.stamp.epoch, progress.sequence)


def _known_better(known: ViewEntry, identity: Identity, partition: int) -> bool:
    """Whether a record is older than the known entry or a duplicate of it.

    Within a partition the log order decides, and an equal version is a duplicate. An object that
    changed its owner has records in two partitions, whose order is unknown. There the higher
    version wins.
    """
    if known.partition == partition:
        return (
            known.identity.uid == identity.uid
            and known.identity.resource_version == identity.resource_version
        )
    return (
        # A version that is no number reads as 0 and cannot be compared; that record is accepted.
        read_version(known.identity.resource_version) > read_version(identity.resource_version) > 0
    )
