"""Whether a checkpoint may be believed (protocol 10).

A checkpoint stands for a moment in the logs. It is good when these are still the same logs, when
everything written after that moment can still be read, deletions included, and when nothing of it is
missing. Everything else means a cold start, which costs time and nothing else, so in doubt it is no.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc_messages.facts import Stamp
from vc_messages.topics import TOMBSTONE_RETENTION_SECONDS
from vc_snapshot.interface import Checkpoint

AGE_SECONDS_MAX: Final = TOMBSTONE_RETENTION_SECONDS / 2
"""Tombstones written since the checkpoint must still be there, with the other half to spare."""


class LogSpan(msgspec.Struct, frozen=True, kw_only=True):
    """What can be read of a topic, per partition."""

    starts: list[int]
    ends: list[int]


def why_unusable(
    checkpoint: Checkpoint, *, stamp: Stamp, logs: Mapping[str, LogSpan], now: float
) -> str:
    """Why nobody may start from it; empty when one may. `stamp` is the newest progress'."""
    if not checkpoint.valid:
        return "its digest is not that of its content"
    if checkpoint.incarnation != stamp.incarnation:
        return f"it is of incarnation {checkpoint.incarnation}, not {stamp.incarnation}"
    if checkpoint.epoch > stamp.epoch:
        return f"it is of epoch {checkpoint.epoch}, newer than {stamp.epoch}"
    return _why_untimely(checkpoint.written_at, now) or _why_elsewhere(checkpoint.offsets, logs)


def _why_untimely(written_at: float, now: float) -> str:
    """The writer's clock is only a hint, but a hint suffices to refuse."""
    age = now - written_at
    if age < 0:
        return f"it was written {-age:.1f} s in the future"
    if age >= AGE_SECONDS_MAX:
        return f"it is {age:.0f} s old; deletions may be forgotten after {AGE_SECONDS_MAX:.0f} s"
    return ""


def _why_elsewhere(offsets: Mapping[str, list[int]], logs: Mapping[str, LogSpan]) -> str:
    if set(offsets) != set(logs):
        return f"it is of {', '.join(sorted(offsets))}, not {', '.join(sorted(logs))}"
    for topic, span in sorted(logs.items()):
        if len(offsets[topic]) != len(span.starts):
            return f"{topic} has {len(span.starts)} partitions, not {len(offsets[topic])}"
        for partition, offset in enumerate(offsets[topic]):
            if offset < span.starts[partition]:
                return f"{topic}[{partition}] begins at {span.starts[partition]}, after {offset}"
            if offset > span.ends[partition]:
                return f"{topic}[{partition}] ends at {span.ends[partition]}, before {offset}"
    return ""
