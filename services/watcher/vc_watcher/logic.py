"""What changed: the difference between what the bus says and what the API server says.

`Index` remembers of every object on a topic only its uid, version and partition. Told of an object
as it is now, or of its end, it gives the messages that make the topic say so, and none when the
topic says so already. It is rebuilt from the topic itself after a restart (`replay`), so a new
watcher publishes only the difference, deletions included.

A record that an older watcher wrote after a newer one had fenced the partition, or that cannot be read,
is *foreign*: readers drop it, but compaction would keep it, so the truth must be written over it.

A watch only ever goes forward: what is older than what the topic says was said before, and is no news.
A list is believed as it is, since it is how a cluster that was set back (etcd from a backup) is told.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from vc_messages.codec import CodecError
from vc_messages.facts import (
    FENCE_KEY,
    Stamp,
    fact_message,
    fence_message,
    identity_of,
    is_projected_as_now,
    tombstone_message,
)
from vc_messages.partition import partition_of
from vc_messages.published import published
from vc_messages.record import Message, Record
from vc_messages.topics import fact_partitions
from vc_messages.trace import traceparent_of
from vc_model.bounded import read_version
from vc_model.faults import describe
from vc_model.graft import strip_nulls
from vc_model.kinds import Kind
from vc_model.meta import ApiObject, object_key
from vc_model.pod import Pod
from vc_model.pod_resize import with_held_requests


class Known(msgspec.Struct, frozen=True):
    """What the topic says of an object."""

    uid: str
    resource_version: str
    partition: int


class Foreign(msgspec.Struct, frozen=True):
    """A record that must be overwritten with the truth."""

    key: str
    uid: str
    partition: int


Log: TypeAlias = tuple[str, int]
"""A key and the partition it stands in."""


class Bare(msgspec.Struct, frozen=True):
    """Of an object that cannot be projected: which one it is."""

    key: str
    uid: str


class _BareMetadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""


class _BareObject(msgspec.Struct, frozen=True):
    metadata: _BareMetadata


_bare_decoder = msgspec.json.Decoder(_BareObject)


class UnreadableError(ValueError):
    """An object we cannot decode; says why."""


class Decoder:
    """Bytes of the API server to the projection of a kind."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._typed = msgspec.json.Decoder(kind.type)

    def decode(self, raw: bytes) -> ApiObject:
        """The projection; nulls that some clients write where they mean nothing are forgiven."""
        try:
            obj = self._typed.decode(raw)
        except msgspec.ValidationError:
            obj = self._decode_forgiving(raw)
        except Exception as error:  # noqa: BLE001 - texts that are no UTF-8, nesting, numbers
            raise UnreadableError(f"not JSON: {describe(error)}") from None
        if not obj.kind:  # items of a list carry neither
            obj = msgspec.structs.replace(
                obj, api_version=self._kind.api_version, kind=self._kind.kind
            )
        if isinstance(obj, Pod):
            obj = with_held_requests(obj)
        return published(obj)

    def decode_bare(self, raw: bytes) -> Bare:
        """Which object it is, whatever else is wrong with it; UnreadableError when not even that."""
        try:
            metadata = _bare_decoder.decode(raw).metadata
        except Exception as error:  # noqa: BLE001 - as above
            raise UnreadableError(f"it has no name: {describe(error)}") from None
        return Bare(object_key(metadata.namespace, metadata.name), metadata.uid)

    def _decode_forgiving(self, raw: bytes) -> ApiObject:
        try:
            plain = strip_nulls(msgspec.json.decode(raw))
            return msgspec.convert(plain, type=self._kind.type)
        except Exception as error:  # noqa: BLE001 - as above
            raise UnreadableError(describe(error)) from None


class Index:
    """One kind's topic, as far as the watcher must know it."""

    def __init__(self, kind: Kind, *, stamp: Stamp) -> None:
        self.kind = kind
        self.stamp = stamp
        self.foreign: dict[Log, Foreign] = {}
        """Records to be overwritten when the truth is known."""
        self._known: dict[str, Known] = {}
        self._epochs: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    @property
    def highest_epoch(self) -> int:
        """Of the records on the topic; -1 when there are none of this incarnation."""
        return max(self._epochs.values(), default=-1)

    # -- reading our own topic back --------------------------------------------------------------

    def replay(self, record: Record) -> None:
        """Take in a record that is on the topic already, with the rules of every reader."""
        try:
            identity = identity_of(record)
        except CodecError:
            self.note_unreadable(record)
            return
        if identity.stamp.incarnation != self.stamp.incarnation:
            # Nobody believes it, but compaction would keep it in the place of ours.
            if record.key != FENCE_KEY:
                self.note_foreign(record.key, uid=identity.uid, partition=record.partition)
            return
        if identity.stamp.epoch < self._epochs.get(record.partition, -1):
            self.note_foreign(record.key, uid=identity.uid, partition=record.partition)
            return
        self._epochs[record.partition] = identity.stamp.epoch
        if record.key == FENCE_KEY:
            return
        self.foreign.pop((record.key, record.partition), None)
        if record.value is not None:
            # Of another projection the topic says too much or too little: it is written again.
            version = identity.resource_version if is_projected_as_now(record) else ""
            self._replay_fact(record, identity.uid, version)
        elif self._is(record.key, uid=identity.uid, partition=record.partition):
            del self._known[record.key]

    def _replay_fact(self, record: Record, uid: str, resource_version: str) -> None:
        known = self._known.get(record.key)
        if known is not None and known.partition != record.partition:
            # Records in two partitions have no order: the older one still needs its tombstone.
            older, newer = _by_version(known, Known(uid, resource_version, record.partition))
            self.note_foreign(record.key, uid=older.uid, partition=older.partition)
            self._known[record.key] = newer
            return
        self._known[record.key] = Known(uid, resource_version, record.partition)

    def note_foreign(self, key: str, *, uid: str, partition: int) -> None:
        """Somebody wrote what must not stand."""
        self.foreign[key, partition] = Foreign(key, uid, partition)

    def note_unreadable(self, record: Record) -> None:
        """A newer release wrote before us, or nobody knows who.

        Readers of ours stand still at the first and lack the object after the second, until it is
        written over. Its headers may mean anything; a tombstone for no uid still takes its place.
        """
        if record.key != FENCE_KEY:
            self.note_foreign(record.key, uid="", partition=record.partition)

    def _is(self, key: str, *, uid: str, partition: int) -> bool:
        known = self._known.get(key)
        return known is not None and known.uid == uid and known.partition == partition

    # -- being told the truth --------------------------------------------------------------------

    def fences(self) -> list[Message]:
        """Nobody of a lower epoch is believed after these."""
        return [
            fence_message(self.kind, partition=partition, stamp=self.stamp)
            for partition in range(fact_partitions(self.kind))
        ]

    def seen(self, obj: ApiObject, *, again: bool = False, listed: bool = False) -> list[Message]:
        """The object as it is now; nothing when the topic says so (unless `again`) or says more.

        A name is given anew under a higher version only, so an older one is the past, whatever its
        uid; but a list is the present, even of a cluster that was set back. CodecError when the
        object does not fit in a message: then the topic keeps what it has.
        """
        metadata = obj.metadata
        key = obj.key
        partition = partition_of(self.kind, obj)
        known = self._known.get(key)
        current = Known(metadata.uid, metadata.resource_version, partition)
        if known == current and not again:
            return []
        if known is not None and not listed and _is_older(current, than=known):
            return []
        fact = fact_message(self.kind, obj, stamp=self.stamp, traceparent=traceparent_of(obj))
        self._known[key] = current
        if known is not None and known.partition != partition:
            return [self._tombstone(key, known), fact]
        return [fact]

    def gone(self, key: str, *, uid: str = "") -> list[Message]:
        """The object is no more; with a uid, only if that is the one the topic has."""
        known = self._known.get(key)
        if known is None or (uid and known.uid != uid):
            return []
        del self._known[key]
        return [self._tombstone(key, known)]

    def gone_unless(self, bare: Bare) -> list[Message]:
        """What the topic has of that name is no more, unless it is this very one."""
        known = self._known.get(bare.key)
        return self.gone(bare.key) if known is not None and known.uid != bare.uid else []

    def gone_but(self, listed: set[str]) -> list[Message]:
        """Everything that a complete list did not show is gone."""
        missing = sorted(key for key in self._known if key not in listed)
        return [message for key in missing for message in self.gone(key)]

    def foreign_of(self, key: str) -> dict[Log, Foreign]:
        """The foreign records of one name."""
        logs = [(key, partition) for partition in range(fact_partitions(self.kind))]
        return {log: self.foreign[log] for log in logs if log in self.foreign}

    def settle_foreign(self, noted: Mapping[Log, Foreign]) -> list[Message]:
        """Bury those foreign records where the truth has no record of that name in the partition.

        `noted` are those that were known before the truth was read, by a list or for one name: what
        was written since is not settled by it. Where the name does live in that partition, its fact
        was published again by then (`seen(..., again=True)`), and a tombstone after it would let
        compaction take the living record out of the log.
        """
        settled = [f for log, f in noted.items() if self.foreign.get(log) is f]
        for foreign in settled:
            del self.foreign[foreign.key, foreign.partition]
        return [
            tombstone_message(
                self.kind,
                key=foreign.key,
                partition=foreign.partition,
                uid=foreign.uid,
                resource_version="",
                stamp=self.stamp,
            )
            for foreign in settled
            if not self._lives_in(foreign.key, foreign.partition)
        ]

    def _lives_in(self, key: str, partition: int) -> bool:
        known = self._known.get(key)
        return known is not None and known.partition == partition

    def is_foreign(self, key: str) -> bool:
        """Whether the truth about this key must be written even if we wrote it before."""
        return bool(self.foreign) and bool(self.foreign_of(key))

    def _tombstone(self, key: str, known: Known) -> Message:
        return tombstone_message(
            self.kind,
            key=key,
            partition=known.partition,
            uid=known.uid,
            resource_version=known.resource_version,
            stamp=self.stamp,
        )


def _by_version(one: Known, other: Known) -> tuple[Known, Known]:
    """Older first; versions that are no numbers keep the order in which they were read."""
    return (other, one) if _is_older(other, than=one) else (one, other)


def _is_older(one: Known, *, than: Known) -> bool:
    """By version; those that are no numbers have no order."""
    return is_lower(one.resource_version, than.resource_version)


def is_lower(version: str, other: str) -> bool:
    """Whether the first version is before the second; False when one of them is no number."""
    return 0 < read_version(version) < read_version(other)
