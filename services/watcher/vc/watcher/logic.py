"""Computes the difference between the facts on a topic and the objects of the API server.

`Index` keeps only uid, version and partition of every object on a topic. Given the current state or
the deletion of an object, it returns the messages that the topic needs, and none if the topic is
already up to date. After a restart the index is rebuilt from the topic itself (`replay`), so a new
watcher publishes only the difference, deletions included.

A record is *foreign* when an older watcher wrote it after a newer one had fenced the partition, or
when it cannot be decoded. Readers drop it, but compaction would keep it, so the current state must
be written over it.

A watch only moves forward: an event older than the fact on the topic is ignored. A list is accepted
as it is, because it is how the watcher learns of a cluster that was restored from a backup.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from vc.messages.codec import CodecError
from vc.messages.facts import (
    FENCE_KEY,
    Stamp,
    fact_message,
    fence_message,
    identity_of,
    is_projected_as_now,
    tombstone_message,
)
from vc.messages.partition import partition_of
from vc.messages.published import published
from vc.messages.record import Message, Record
from vc.messages.topics import fact_partitions
from vc.messages.trace import traceparent_of
from vc.model.api.graft import strip_nulls
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.pod import Pod
from vc.model.faults import describe
from vc.model.pod_resize import with_held_requests
from vc.model.values.bounded import read_version


class Known(msgspec.Struct, frozen=True):
    """What the topic holds of an object."""

    uid: str
    resource_version: str
    partition: int


class Foreign(msgspec.Struct, frozen=True):
    """A record that must be overwritten with the current state."""

    key: str
    uid: str
    partition: int


Log: TypeAlias = tuple[str, int]
"""A key and the partition that holds it."""


class Bare(msgspec.Struct, frozen=True):
    """Identity of an object that cannot be projected."""

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
    """An object cannot be decoded; the message says why."""


class Decoder:
    """Decodes bytes of the API server to the projection of a kind."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._typed = msgspec.json.Decoder(kind.type)

    def decode(self, raw: bytes) -> ApiObject:
        """Return the projection; nulls that some clients write for absent values are accepted."""
        try:
            obj = self._typed.decode(raw)
        except msgspec.ValidationError:
            obj = self._decode_forgiving(raw)
        except Exception as error:  # noqa: BLE001 - texts that are no UTF-8, nesting, numbers
            raise UnreadableError(f"not JSON: {describe(error)}") from None
        if not obj.kind:  # items of a list have neither field
            obj = msgspec.structs.replace(
                obj, api_version=self._kind.api_version, kind=self._kind.kind
            )
        if isinstance(obj, Pod):
            obj = with_held_requests(obj)
        return published(obj)

    def decode_bare(self, raw: bytes) -> Bare:
        """Return the identity, whatever else is wrong; raises UnreadableError without one."""
        try:
            metadata = _bare_decoder.decode(raw).metadata
        except Exception as error:  # noqa: BLE001 - as above
            raise UnreadableError(f"it has no name: {describe(error)}") from None
        return Bare(object_key(metadata.namespace, metadata.name), metadata.uid)

    def _decode_forgiving(self, raw: bytes) -> ApiObject:
        """Decode again without nulls; slower, so only after the typed decoder has failed."""
        try:
            plain = strip_nulls(msgspec.json.decode(raw))
            return msgspec.convert(plain, type=self._kind.type)
        except Exception as error:  # noqa: BLE001 - as above
            raise UnreadableError(describe(error)) from None


class Index:
    """What the watcher knows about the topic of one kind."""

    def __init__(self, kind: Kind, *, stamp: Stamp) -> None:
        self.kind = kind
        self.stamp = stamp
        self.foreign: dict[Log, Foreign] = {}
        """Records to overwrite when the current state is known."""
        self._known: dict[str, Known] = {}
        self._epochs: dict[int, int] = {}
        """Highest epoch by partition."""

    def __len__(self) -> int:
        return len(self._known)

    @property
    def highest_epoch(self) -> int:
        """Highest epoch on the topic; -1 when there are no records of this incarnation."""
        return max(self._epochs.values(), default=-1)

    # -- state of our own topic ------------------------------------------------------------------

    def replay(self, record: Record) -> None:
        """Apply a record that is already on the topic, with the same rules as every reader."""
        try:
            identity = identity_of(record)
        except CodecError:
            self.note_unreadable(record)
            return
        if identity.stamp.incarnation != self.stamp.incarnation:
            # Readers drop it, but compaction would keep it in place of our record.
            if record.key != FENCE_KEY:
                self.note_foreign(record.key, uid=identity.uid, partition=record.partition)
            return
        # A watcher of an older term wrote after the fence of a newer one.
        if identity.stamp.epoch < self._epochs.get(record.partition, -1):
            self.note_foreign(record.key, uid=identity.uid, partition=record.partition)
            return
        self._epochs[record.partition] = identity.stamp.epoch
        if record.key == FENCE_KEY:
            return
        self.foreign.pop((record.key, record.partition), None)
        if record.value is not None:
            # A fact of another projection has too many or too few fields. The empty version makes
            # it differ from the current state, so it is published again.
            version = identity.resource_version if is_projected_as_now(record) else ""
            self._replay_fact(record, identity.uid, version)
        # A tombstone of an earlier object with the same name must not delete the current one.
        elif self._is(record.key, uid=identity.uid, partition=record.partition):
            del self._known[record.key]

    def _replay_fact(self, record: Record, uid: str, resource_version: str) -> None:
        """Store the fact; of two partitions the newer version counts."""
        known = self._known.get(record.key)
        if known is not None and known.partition != record.partition:
            # Records in two partitions have no order. The older one still needs its tombstone.
            older, newer = _by_version(known, Known(uid, resource_version, record.partition))
            self.note_foreign(record.key, uid=older.uid, partition=older.partition)
            self._known[record.key] = newer
            return
        self._known[record.key] = Known(uid, resource_version, record.partition)

    def note_foreign(self, key: str, *, uid: str, partition: int) -> None:
        """Note a record that must be overwritten."""
        self.foreign[key, partition] = Foreign(key, uid, partition)

    def note_unreadable(self, record: Record) -> None:
        """Note a record of a newer release or an unknown writer.

        Our readers stop at the former and miss the object after the latter, until the record is
        overwritten. Its headers cannot be trusted; a tombstone without a uid still replaces it.
        """
        if record.key != FENCE_KEY:
            self.note_foreign(record.key, uid="", partition=record.partition)

    def _is(self, key: str, *, uid: str, partition: int) -> bool:
        """Whether this record is the one that the index holds."""
        known = self._known.get(key)
        return known is not None and known.uid == uid and known.partition == partition

    # -- current state from the API server -------------------------------------------------------

    def fences(self) -> list[Message]:
        """Return one fence per partition; readers drop later records of lower epochs."""
        return [
            fence_message(self.kind, partition=partition, stamp=self.stamp)
            for partition in range(fact_partitions(self.kind))
        ]

    def seen(self, obj: ApiObject, *, again: bool = False, listed: bool = False) -> list[Message]:
        """Return the messages for the current state of an object.

        The result is empty when the topic has this state already (unless `again`) or a newer one. A
        name is reused only with a higher version, so a lower version is older, whatever its uid. A
        list is always the current state, even of a cluster that was restored. Raises CodecError
        when the object does not fit into a message; the topic then keeps what it has.
        """
        metadata = obj.metadata
        key = obj.key
        partition = partition_of(self.kind, obj)
        known = self._known.get(key)
        current = Known(metadata.uid, metadata.resource_version, partition)
        if known == current and not again:
            return []
        # A watch may repeat events after it was resumed.
        if known is not None and not listed and _is_older(current, than=known):
            return []
        fact = fact_message(self.kind, obj, stamp=self.stamp, traceparent=traceparent_of(obj))
        self._known[key] = current
        # The old partition needs a tombstone of its own, because compaction works per partition.
        if known is not None and known.partition != partition:
            return [self._tombstone(key, known), fact]
        return [fact]

    def gone(self, key: str, *, uid: str = "") -> list[Message]:
        """Return the tombstone of a deleted object; with a uid, only if the topic has that object."""
        known = self._known.get(key)
        if known is None or (uid and known.uid != uid):
            return []
        del self._known[key]
        return [self._tombstone(key, known)]

    def gone_unless(self, bare: Bare) -> list[Message]:
        """Return the tombstone of the fact with that key, unless it is of this very object."""
        known = self._known.get(bare.key)
        return self.gone(bare.key) if known is not None and known.uid != bare.uid else []

    def gone_but(self, listed: set[str]) -> list[Message]:
        """Return tombstones for all facts that a complete list does not contain."""
        missing = sorted(key for key in self._known if key not in listed)
        return [message for key in missing for message in self.gone(key)]

    def foreign_of(self, key: str) -> dict[Log, Foreign]:
        """Return the foreign records of one key."""
        logs = [(key, partition) for partition in range(fact_partitions(self.kind))]
        return {log: self.foreign[log] for log in logs if log in self.foreign}

    def take_foreign_tombstones(self, noted: Mapping[Log, Foreign]) -> list[Message]:
        """Forget the noted foreign records, and return tombstones for those in partitions where
        the key has no current record.

        `noted` are the records that were known before the current state was read, by a list or for
        one key. Later ones may be newer than that read and stay noted. If the key has a current record
        in the partition, its fact was already published again (`seen(..., again=True)`), and a tombstone
        after it would make compaction remove the live record.
        """
        # A record that was noted again meanwhile is another object here, and stays noted.
        taken = [f for log, f in noted.items() if self.foreign.get(log) is f]
        for foreign in taken:
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
            for foreign in taken
            if not self._has_record_in(foreign.key, foreign.partition)
        ]

    def _has_record_in(self, key: str, partition: int) -> bool:
        """Whether the key has a current record in the partition."""
        known = self._known.get(key)
        return known is not None and known.partition == partition

    def is_foreign(self, key: str) -> bool:
        """Whether the current state of the key must be written even if it is unchanged."""
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
    """Return the older one first; versions that are not numbers keep the order of reading."""
    return (other, one) if _is_older(other, than=one) else (one, other)


def _is_older(one: Known, *, than: Known) -> bool:
    """Compare versions; those that are not numbers have no order."""
    return is_lower(one.resource_version, than.resource_version)


def is_lower(version: str, other: str) -> bool:
    """Whether `version` is before `other`; False when one of them is not a number."""
    return 0 < read_version(version) < read_version(other)
