"""The watcher's facts: an object's projection with who says so and since when.

Headers, not the value, carry identity: a tombstone has no value, and a reader decides on uid,
resourceVersion, epoch and incarnation before it decodes anything.
"""

from typing import Final

import msgspec

from vc_messages.codec import (
    HEADER_TRACEPARENT,
    CodecError,
    check_schema,
    decode,
    encode,
    wire_headers,
)
from vc_messages.incarnations import usable_epoch
from vc_messages.partition import partition_of
from vc_messages.published import PROJECTION, published
from vc_messages.record import Message, Record
from vc_model.bounded import read_integer, shown
from vc_model.kinds import BY_TOPIC, Kind
from vc_model.meta import ApiObject

HEADER_UID: Final = "uid"
HEADER_RESOURCE_VERSION: Final = "resource-version"
HEADER_EPOCH: Final = "epoch"
HEADER_INCARNATION: Final = "incarnation"
HEADER_PROJECTION: Final = "projection"

FENCE_KEY: Final = "\x00epoch"
"""The key of a fence: a new watcher leader writes one to every partition, and whatever an older one
writes after it is dropped by every reader. No object can have this name."""


class Stamp(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Under which watcher, and which birth of the topics, something was published."""

    incarnation: str
    epoch: int


class Identity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fact's headers, read."""

    uid: str
    resource_version: str
    stamp: Stamp
    traceparent: str = ""


def fact_message(kind: Kind, obj: ApiObject, *, stamp: Stamp, traceparent: str = "") -> Message:
    """An object as it is now, and as it travels (`vc_messages.published`)."""
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
    """The object of that uid is gone; goes to the partition of the record it kills."""
    return Message(
        topic=kind.topic,
        partition=partition,
        key=key,
        value=None,
        headers=_headers(uid, resource_version, stamp, ""),
    )


def fence_message(kind: Kind, *, partition: int, stamp: Stamp) -> Message:
    """From here on nobody of a lower epoch is believed."""
    return Message(
        topic=kind.topic,
        partition=partition,
        key=FENCE_KEY,
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
    """Who says so; CodecError when the record does not say."""
    headers = record.headers
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
    """Whether a fact holds what `published` keeps; one of another release may hold more, or less."""
    return record.headers.get(HEADER_PROJECTION) == PROJECTION


def _epoch(headers: dict[str, str]) -> int:
    written = headers[HEADER_EPOCH]
    epoch = read_integer(written)
    if epoch is None:
        raise ValueError(f"epoch {shown(written)} is no number")
    return usable_epoch(epoch)


def object_of(record: Record) -> ApiObject:
    """The projection in a fact that is no tombstone, whichever release wrote it."""
    kind = BY_TOPIC.get(record.topic)
    if kind is None or record.value is None:
        raise CodecError(f"{record.topic} {record.key!r} carries no object")
    obj: ApiObject = decode(record.value, into=kind.type, headers=record.headers)
    if not obj.metadata.name or obj.key != record.key:
        raise CodecError(f"key {shown(record.key)} holds an object {shown(obj.key)}")
    return obj if is_projected_as_now(record) else published(obj)
