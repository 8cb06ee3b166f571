"""Facts: the projection of an object, with its identity and the watcher that published it.

The identity is in headers and not in the value, because a tombstone has no value. A reader checks
uid, resourceVersion, epoch and incarnation before it decodes anything.
"""

from typing import Final

import msgspec

from vc.messages.codec import (
    HEADER_TRACEPARENT,
    CodecError,
    check_schema,
    decode,
    encode,
    wire_headers,
)
from vc.messages.incarnations import usable_epoch
from vc.messages.partition import partition_of
from vc.messages.published import PROJECTION, published
from vc.messages.record import Message, Record
from vc.model.api.kinds import BY_TOPIC, Kind
from vc.model.api.meta import ApiObject
from vc.model.values.bounded import read_integer, shown

HEADER_UID: Final = "uid"
HEADER_RESOURCE_VERSION: Final = "resource-version"
HEADER_EPOCH: Final = "epoch"
HEADER_INCARNATION: Final = "incarnation"
HEADER_PROJECTION: Final = "projection"

FENCE_KEY: Final = "\x00epoch"
"""The key of a fence. A new watcher leader writes a fence to every partition, and every reader
drops later records of an older leader. No object can have this name.
"""


class Stamp(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The watcher's epoch and the incarnation of the topics at the time of publishing."""

    incarnation: str
    epoch: int


class Identity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The decoded headers of a fact."""

    uid: str
    resource_version: str
    stamp: Stamp
    traceparent: str = ""


def fact_message(kind: Kind, obj: ApiObject, *, stamp: Stamp, traceparent: str = "") -> Message:
    """The message for an object's current state, as projected by `vc.messages.published`."""
    return Message(
        topic=kind.topic,
        partition=partition_of(kind, obj),
        key=obj.key,
        value=encode(obj),
        headers={
            **_headers(obj.metadata.uid, obj.metadata.resource_version, stamp, traceparent),
            HEADER_PROJECTION: PROJECTION,
        },
    )


def tombstone_message(
    kind: Kind, *, key: str, partition: int, uid: str, resource_version: str, stamp: Stamp
) -> Message:
    """The message that the object with that uid is deleted;
    sent to the partition of the object's record.
    """
    return Message(
        topic=kind.topic,
        # Not the partition of the present owner: readers delete only an entry that they hold from
        # the same partition (docs/protocol.md 1).
        partition=partition,
        key=key,
        value=None,
        headers=_headers(uid, resource_version, stamp, ""),
    )


def fence_message(kind: Kind, *, partition: int, stamp: Stamp) -> Message:
    """A fence: readers drop later records of lower epochs."""
    return Message(
        topic=kind.topic,
        partition=partition,
        key=FENCE_KEY,
        # Empty and not None: compaction removes tombstones after a day, and the fence must stay.
        value=b"",
        headers=_headers("", "", stamp, ""),
    )


def _headers(uid: str, resource_version: str, stamp: Stamp, traceparent: str) -> dict[str, str]:
    return {
        **wire_headers(traceparent),
        HEADER_UID: uid,
        HEADER_RESOURCE_VERSION: resource_version,
        HEADER_EPOCH: str(stamp.epoch),
        HEADER_INCARNATION: stamp.incarnation,
    }


def identity_of(record: Record) -> Identity:
    """The identity in a record's headers; raises CodecError if it is incomplete."""
    headers = record.headers
    # Headers of a newer schema may have another meaning, so check before reading them.
    check_schema(headers)
    try:
        return Identity(
            uid=headers[HEADER_UID],
            resource_version=headers[HEADER_RESOURCE_VERSION],
            stamp=Stamp(incarnation=headers[HEADER_INCARNATION], epoch=_epoch(headers)),
            traceparent=headers.get(HEADER_TRACEPARENT, ""),
        )
    except (KeyError, ValueError) as error:
        raise CodecError(f"a fact without usable headers: {error}") from None


def is_projected_as_now(record: Record) -> bool:
    """Whether a fact has the current projection;
    a fact of another release may have more or fewer fields.
    """
    return record.headers.get(HEADER_PROJECTION) == PROJECTION


def _epoch(headers: dict[str, str]) -> int:
    written = headers[HEADER_EPOCH]
    epoch = read_integer(written)
    if epoch is None:
        raise ValueError(f"epoch {shown(written)} is no number")
    # No Lease could ever exceed a larger number, so a forged one would fence out all watchers for
    # good (docs/protocol.md 4).
    return usable_epoch(epoch)


def object_of(record: Record) -> ApiObject:
    """The projected object of a fact that is no tombstone, whichever release wrote it."""
    kind = BY_TOPIC.get(record.topic)
    if kind is None or record.value is None:
        raise CodecError(f"{record.topic} {record.key!r} carries no object")
    obj: ApiObject = decode(record.value, into=kind.type, headers=record.headers)
    # The key selects the entry in the view, so an object under another key must not replace it.
    if not obj.metadata.name or obj.key != record.key:
        raise CodecError(f"key {shown(record.key)} holds an object {shown(obj.key)}")
    # A fact of an older release may still contain fields that must not be kept.
    return obj if is_projected_as_now(record) else published(obj)
