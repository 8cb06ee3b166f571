"""What may be believed, and when one may act on it.

A `View` is fed records in the order they were read and keeps, per kind, the newest object of each
key. It believes nothing of another incarnation, nothing that an older watcher wrote after a newer
one had fenced the partition, and no tombstone for another uid than the one it holds. `unready` says
why one must not decide yet: this is the barrier (protocol 6) and the staleness rule (protocol 7).

The view is pure: it is told when a record was read (`received_at`, monotonic) and what time it is.
It never sees another machine's clock.
"""

import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from vc_messages.codec import CodecError
from vc_messages.facts import FENCE_KEY, Identity, identity_of, object_of
from vc_messages.incarnations import ForeignClusterError, cluster_of, is_foreign
from vc_messages.progress import PROGRESS_STALE_SECONDS, Progress, progress_of
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import PARTITIONS, PROGRESS, fact_partitions
from vc_model.bounded import read_version
from vc_model.kinds import BY_TOPIC, Kind
from vc_model.meta import ApiObject


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An object we believe in, and on whose word."""

    object: ApiObject
    identity: Identity
    partition: int


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a record changed. `after` is None when the object is gone."""

    kind: Kind
    key: str
    partition: int
    before: ApiObject | None
    after: ApiObject | None
    traceparent: str = ""


class ViewState(msgspec.Struct, frozen=True, kw_only=True):
    """All that a view believes at one moment, and where in the logs that was.

    Progress is not part of it: it says when one may act, and only the living may say that.
    """

    incarnation: str
    epoch: int
    """Of the newest progress at that moment."""
    positions: dict[TopicPartition, int]
    """Of every log of the view's kinds."""
    epochs: dict[TopicPartition, int]
    """The highest that was seen in a log; logs without any are absent."""
    tables: dict[str, dict[str, Entry]]
    """Topic to key to entry."""


class IncarnationChanged(Exception):  # noqa: N818 - an event, not a fault
    """The topics were born anew: throw the view away and read from the beginning."""


class View:
    """The facts of some kinds, over some partitions."""

    def __init__(
        self,
        kinds: Iterable[Kind],
        *,
        partitions: Iterable[int] = range(PARTITIONS),
        cluster: str = "",
    ) -> None:
        """`cluster` is the uid of ours: progress of another is refused; empty believes any."""
        self.kinds = tuple(kinds)
        self.cluster = cluster
        self.partitions = frozenset(partitions)
        self._logs = {kind.topic: frozenset(range(fact_partitions(kind))) for kind in self.kinds}
        """Topic to the partitions that it has."""
        self.incarnation: str | None = None
        """Of the newest progress; None until the first was read, and then nothing is believed."""
        self.positions: dict[TopicPartition, int] = {}
        """Next offset to read; never goes back within one incarnation."""
        self._passed_over = False
        """Facts came before any progress: they were not believed, so they must be read again."""
        self._tables: dict[str, dict[str, Entry]] = {kind.topic: {} for kind in self.kinds}
        self._epochs: dict[TopicPartition, int] = {}
        self._progress: dict[str, Progress] = {}
        self._progress_received_at: dict[str, float] = {}

    # -- reading ---------------------------------------------------------------------------------

    def objects(self, kind: Kind) -> Iterator[ApiObject]:
        """All objects of a kind, in no particular order."""
        return (entry.object for entry in self._tables[kind.topic].values())

    def get(self, kind: Kind, key: str) -> ApiObject | None:
        """The object of that key, if we believe in one."""
        entry = self._tables[kind.topic].get(key)
        return entry.object if entry else None

    def entries(self, kind: Kind) -> Mapping[str, Entry]:
        """Objects with their identities, for those who must know on whose word."""
        return self._tables[kind.topic]

    def progress(self, kind: Kind) -> Progress | None:
        """The newest progress of a kind."""
        return self._progress.get(kind.short)

    @property
    def epoch(self) -> int:
        """Of the newest progress; -1 before the first."""
        return max((p.stamp.epoch for p in self._progress.values()), default=-1)

    # -- as a whole ------------------------------------------------------------------------------

    def state(self) -> ViewState | None:
        """A copy that later records do not change; None before anything can be believed.

        Entries are immutable, so copying the tables is a matter of a millisecond.
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
        """Believe what another view of these kinds believed; everything in it is a change.

        Only for a view that has read progress and no fact yet. Raises IncarnationChanged when the
        topics are not those that the state was made of.
        """
        if self.incarnation != state.incarnation:
            raise IncarnationChanged(self.incarnation)
        self.positions.update(state.positions)
        self._epochs = dict(state.epochs)
        changes: list[Change] = []
        for kind in self.kinds:
            table = self._tables[kind.topic] = state.tables[kind.topic].copy()
            changes.extend(_news(kind, key, entry) for key, entry in table.items())
        return changes

    # -- being told ------------------------------------------------------------------------------

    def apply(self, record: Record, *, received_at: float, live: bool) -> Change | None:
        """Take one record in. `live`: it was published after we began to follow, so it is news.

        Raises CodecError for a record that cannot be used (the caller sends it to dead-letters;
        the position has moved on) and IncarnationChanged when all must be read again.
        """
        self.positions[record.log] = record.offset + 1
        if record.topic == PROGRESS.name:
            if record.value is not None:  # the watcher buries what others wrote there
                self._take_progress(progress_of(record), received_at=received_at, live=live)
            return None
        return self._take_fact(record)

    def _take_progress(self, progress: Progress, *, received_at: float, live: bool) -> None:
        if is_foreign(progress.stamp.incarnation, own=self.cluster):
            raise ForeignClusterError(cluster_of(progress.stamp.incarnation))
        if self.incarnation is None:
            if self._passed_over:
                raise IncarnationChanged(progress.stamp.incarnation)
            self.incarnation = progress.stamp.incarnation
        elif progress.stamp.incarnation != self.incarnation:
            raise IncarnationChanged(progress.stamp.incarnation)
        known = self._progress.get(progress.kind)
        if known is not None and _order(progress) <= _order(known):
            return
        self._progress[progress.kind] = progress
        if live:
            self._progress_received_at[progress.kind] = received_at

    def _take_fact(self, record: Record) -> Change | None:
        table = self._tables.get(record.topic)
        kind = BY_TOPIC.get(record.topic)
        if table is None or kind is None:
            raise CodecError(f"{record.topic} is not among the kinds of this view")
        identity = identity_of(record)
        if not self._believes(record, identity) or record.key == FENCE_KEY:
            return None
        known = table.get(record.key)
        if record.value is None:
            return self._bury(kind, record, identity, known)
        if known is not None and _known_better(known, identity, record.partition):
            return None
        obj = object_of(record)
        table[record.key] = Entry(object=obj, identity=identity, partition=record.partition)
        return Change(
            kind=kind,
            key=record.key,
            partition=record.partition,
            before=known.object if known else None,
            after=obj,
            traceparent=identity.traceparent,
        )

    def _believes(self, record: Record, identity: Identity) -> bool:
        """Right incarnation, and no newer watcher has written to this partition before."""
        if identity.stamp.incarnation != self.incarnation:
            self._passed_over |= self.incarnation is None
            return False
        highest = self._epochs.get(record.log, -1)
        if identity.stamp.epoch < highest:
            return False
        self._epochs[record.log] = identity.stamp.epoch
        return True

    def _bury(
        self, kind: Kind, record: Record, identity: Identity, known: Entry | None
    ) -> Change | None:
        """A tombstone kills only the record it was written for."""
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
        """Forget a partition that is no longer ours."""
        self.partitions -= {partition}
        for topic, table in self._tables.items():
            for key in [k for k, entry in table.items() if entry.partition == partition]:
                del table[key]
            self.positions.pop(TopicPartition(topic, partition), None)
            self._epochs.pop(TopicPartition(topic, partition), None)

    # -- how far we are ------------------------------------------------------------------------

    def behind(self) -> int:
        """Records that the newest progress stands for and we have not read."""
        missing = 0
        for kind in self.kinds:
            progress = self._progress.get(kind.short)
            if progress is None:
                continue
            for partition in self.partitions & self._logs[kind.topic]:
                read = self.positions.get(TopicPartition(kind.topic, partition), 0)
                missing += max(0, progress.end_offsets[partition] - read)
        return missing

    def progress_age(self, now: float) -> float:
        """Seconds since the oldest of our kinds was last heard of; infinite before the first."""
        heard = [self._progress_received_at.get(kind.short) for kind in self.kinds]
        return max((now - at if at is not None else math.inf for at in heard), default=math.inf)

    # -- when one may act ------------------------------------------------------------------------

    def unready(self, now: float, *, partitions: Iterable[int] | None = None) -> str:
        """Why one must not decide yet; empty when one may. `now` is monotonic."""
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
        if progress.stamp.epoch != epoch:
            return f"progress of {kind.short} is of epoch {progress.stamp.epoch}, not {epoch}"
        if not progress.synced:
            return f"{kind.short} not synced"
        for partition in sorted(partitions & self._logs[kind.topic]):
            read = self.positions.get(TopicPartition(kind.topic, partition), 0)
            if read < progress.end_offsets[partition]:
                behind = progress.end_offsets[partition] - read
                return f"{kind.topic}[{partition}] is {behind} records behind"
        return ""

    def _stale(self, now: float) -> str:
        for kind in self.kinds:
            received_at = self._progress_received_at.get(kind.short)
            if received_at is None:
                return f"no live progress of {kind.short} yet"
            if now - received_at > PROGRESS_STALE_SECONDS:
                return f"progress of {kind.short} is {now - received_at:.1f} s old"
        return ""


def _news(kind: Kind, key: str, entry: Entry) -> Change:
    return Change(
        kind=kind,
        key=key,
        partition=entry.partition,
        before=None,
        after=entry.object,
        traceparent=entry.identity.traceparent,
    )


def _order(progress: Progress) -> tuple[int, int]:
    return (progress.stamp.epoch, progress.sequence)


def _known_better(known: Entry, identity: Identity, partition: int) -> bool:
    """Whether a record says nothing new.

    Within a partition its order decides and an equal version is a duplicate. An object that changed
    owners has records in two partitions, whose order is not known: there the higher version wins.
    """
    if known.partition == partition:
        return (
            known.identity.uid == identity.uid
            and known.identity.resource_version == identity.resource_version
        )
    return (
        read_version(known.identity.resource_version) > read_version(identity.resource_version) > 0
    )
