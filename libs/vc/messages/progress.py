"""The watcher's progress of each kind, which shows whether a view is complete and fresh."""

from typing import Final

import msgspec

from vc.messages.codec import CodecError, decode, encode, wire_headers
from vc.messages.facts import HEADER_INCARNATION, Stamp
from vc.messages.incarnations import OFFSET_MAX, SEQUENCE_MAX, UnknownKindError, usable_epoch
from vc.messages.record import Message, Record
from vc.messages.topics import PROGRESS, fact_partitions
from vc.model.api.kinds import WATCHED

PROGRESS_PERIOD_SECONDS: Final = 1.0
"""Interval at which the watcher publishes progress; it also publishes when a sync ends."""

PROGRESS_STALE_SECONDS: Final = 5.0
"""No decision may be based on a view whose newest progress is older than this."""


_PARTITIONS: Final = {kind.short: fact_partitions(kind) for kind in WATCHED}


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A kind's state at the API server, and the matching offsets on the bus."""

    kind: str
    """The kind's name, as in `Kind.short`."""
    stamp: Stamp
    sequence: int
    """Counts the watcher's announcements;
    a lower or equal number is an old record that is read again.
    """
    synced: bool
    resource_version: str
    """The version that was reached by list, watch or bookmark."""
    end_offsets: list[int]
    """By partition of the kind's topic: a reader at these offsets has seen that version."""


def progress_message(progress: Progress) -> Message:
    """The message on `cluster.progress`, keyed by kind. The incarnation is also a header, so that a
    release that cannot decode the value knows its cluster.
    """
    return Message(
        topic=PROGRESS.name,
        partition=0,
        key=progress.kind,
        value=encode(progress),
        headers={**wire_headers(), HEADER_INCARNATION: progress.stamp.incarnation},
    )


def forgotten_message(key: str) -> Message:
    """A tombstone for a key that no watcher may have written."""
    return Message(topic=PROGRESS.name, partition=0, key=key, value=None, headers=wire_headers())


def progress_of(record: Record) -> Progress:
    """Decode progress; raises CodecError if no watcher of this release can have written it.

    Raises UnknownKindError if this release does not follow the kind.
    """
    progress = decode(record.value or b"", into=Progress, headers=record.headers)
    expected = _PARTITIONS.get(progress.kind)
    if expected is None:
        raise UnknownKindError(f"progress of {progress.kind[:64]!r}: no such kind is followed")
    # A wrong count would make the barrier wait forever, or not at all.
    if len(progress.end_offsets) != expected:
        raise CodecError(
            f"progress of {progress.kind} names {len(progress.end_offsets)} partitions, "
            f"not {expected}"
        )
    # Under a wrong key, compaction would keep it beside the true record forever.
    if record.key != progress.kind:
        raise CodecError(f"progress of {progress.kind} under the key {record.key[:64]!r}")
    _check_numbers(progress)
    return progress


def _check_numbers(progress: Progress) -> None:
    try:
        usable_epoch(progress.stamp.epoch)
    except ValueError as error:
        raise CodecError(f"progress of {progress.kind}: {error}") from None
    if not 0 <= progress.sequence <= SEQUENCE_MAX:
        raise CodecError(f"progress of {progress.kind}: sequence {progress.sequence}")
    if not all(0 <= offset <= OFFSET_MAX for offset in progress.end_offsets):
        raise CodecError(f"progress of {progress.kind} names offsets that no log has")
