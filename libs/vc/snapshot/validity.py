"""Checks whether a checkpoint can be used (docs/protocol.md 10).

A checkpoint corresponds to one moment in the logs. It is valid if the logs are still the same, if
everything written after that moment can still be read, including deletions, and if no part is
missing. Otherwise the start is cold, which only costs time, so a doubtful checkpoint is rejected.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.messages.facts import Stamp
from vc.messages.topics import TOMBSTONE_RETENTION_SECONDS
from vc.snapshot.interface import Checkpoint

AGE_SECONDS_MAX: Final = TOMBSTONE_RETENTION_SECONDS / 2
"""Maximum age. Tombstones written since the checkpoint must still exist;
half of their retention is the safety margin.
"""


class LogSpan(msgspec.Struct, frozen=True, kw_only=True):
    """The readable offsets of a topic, by partition."""

    starts: list[int]
    ends: list[int]


def why_unusable(
    checkpoint: Checkpoint, *, stamp: Stamp, logs: Mapping[str, LogSpan], now: float
) -> str:
    """The reason why the checkpoint cannot be used; empty if it can.
    `stamp` is that of the newest progress.
    """
    if not checkpoint.valid:
        return "its digest is not that of its content"
    # In other topics the same offsets belong to other records (docs/protocol.md 3).
    if checkpoint.incarnation != stamp.incarnation:
        return f"it is of incarnation {checkpoint.incarnation}, not {stamp.incarnation}"
    # Epochs never decrease within an incarnation, so the checkpoint or the topic is wrong.
    if checkpoint.epoch > stamp.epoch:
        return f"it is of epoch {checkpoint.epoch}, newer than {stamp.epoch}"
    return _why_untimely(checkpoint.written_at, now) or _why_elsewhere(checkpoint.offsets, logs)


def _why_untimely(written_at: float, now: float) -> str:
    """The writer's clock is only a hint, but that is enough to reject."""
    age = now - written_at
    # Its real age is unknown then, and tombstones after it may already be gone.
    if age < 0:
        return f"it was written {-age:.1f} s in the future"
    if age >= AGE_SECONDS_MAX:
        return f"it is {age:.0f} s old; deletions may be forgotten after {AGE_SECONDS_MAX:.0f} s"
    return ""


def _why_elsewhere(offsets: Mapping[str, list[int]], logs: Mapping[str, LogSpan]) -> str:
    # A kind that the writer did not follow would look like a kind without objects.
    if set(offsets) != set(logs):
        return f"it is of {', '.join(sorted(offsets))}, not {', '.join(sorted(logs))}"
    for topic, span in sorted(logs.items()):
        if len(offsets[topic]) != len(span.starts):
            return f"{topic} has {len(span.starts)} partitions, not {len(offsets[topic])}"
        for partition, offset in enumerate(offsets[topic]):
            # Records between the checkpoint and the start of the log are gone for good.
            if offset < span.starts[partition]:
                return f"{topic}[{partition}] begins at {span.starts[partition]}, after {offset}"
            # A log that is shorter than before was created again.
            if offset > span.ends[partition]:
                return f"{topic}[{partition}] ends at {span.ends[partition]}, before {offset}"
    return ""
