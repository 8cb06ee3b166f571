"""How far the watcher has come, kind by kind: what makes a view complete and fresh."""

from typing import Final

import msgspec

from vc_messages.codec import CodecError, decode, encode, wire_headers
from vc_messages.facts import HEADER_INCARNATION, Stamp
from vc_messages.incarnations import OFFSET_MAX, SEQUENCE_MAX, UnknownKindError, usable_epoch
from vc_messages.record import Message, Record
from vc_messages.topics import PROGRESS, fact_partitions
from vc_model.kinds import WATCHED

PROGRESS_PERIOD_SECONDS: Final = 1.0
"""How often the watcher tells; also at once when a sync ends."""

PROGRESS_STALE_SECONDS: Final = 5.0
"""Nobody decides on a view whose newest progress is older than this."""


_PARTITIONS: Final = {kind.short: fact_partitions(kind) for kind in WATCHED}


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A kind's state at the API server and where on the bus it stands."""

    kind: str
    """`Kind.short`."""
    stamp: Stamp
    sequence: int
    """Counts the watcher's announcements; a number seen before is an old record, read again."""
    synced: bool
    resource_version: str
    """Reached by list, watch or bookmark."""
    end_offsets: list[int]
    """Per partition of the kind's topic: who has read up to here has seen that version."""


def progress_message(progress: Progress) -> Message:
    """On `cluster.progress`, keyed by kind. A release that cannot read it sees whose it is."""
    return Message(
        topic=PROGRESS.name,
        partition=0,
        key=progress.kind,
        value=encode(progress),
        headers={**wire_headers(), HEADER_INCARNATION: progress.stamp.incarnation},
    )


def forgotten_message(key: str) -> Message:
    """A tombstone for what nobody may have written there."""
    return Message(topic=PROGRESS.name, partition=0, key=key, value=None, headers=wire_headers())


def progress_of(record: Record) -> Progress:
    """Read it back; CodecError when no watcher of this release can have written it.

    UnknownKindError when it is not about a kind that this release follows.
    """
    progress = decode(record.value or b"", into=Progress, headers=record.headers)
    expected = _PARTITIONS.get(progress.kind)
    if expected is None:
        raise UnknownKindError(f"progress of {progress.kind[:64]!r}: no such kind is followed")
    if len(progress.end_offsets) != expected:
        raise CodecError(
            f"progress of {progress.kind} names {len(progress.end_offsets)} partitions, "
            f"not {expected}"
        )
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
