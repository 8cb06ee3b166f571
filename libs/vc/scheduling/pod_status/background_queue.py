"""Rate-limited queue for writes on which no decision depends.

Conditions of waiting pods come first, because autoscalers act on them; events follow. A newer entry
for the same object replaces the older one, so the queue is bounded by the number of objects. A
token bucket limits the rate: when a thousand pods begin to wait at once, the API server gets at
most `WRITES_PER_SECOND` of these writes. Binds and statuses are not limited by it.
"""

from typing import Final

import msgspec

from vc.messages.effects import RecordEvent
from vc.scheduling.model.decisions import PodRef

WRITES_PER_SECOND: Final = 100.0
BURST: Final = 20.0
"""Writes that may be sent at once after a pause."""


class PodCondition(msgspec.Struct, frozen=True, kw_only=True):
    """The condition PodScheduled=False that is to be written on a pod."""

    pod: PodRef
    message: str


class PodEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The event FailedScheduling on a pod; it is written only while the pod waits."""

    pod: PodRef
    message: str


BackgroundWrite = PodCondition | PodEvent | RecordEvent


class BackgroundQueue:
    """Pending writes by key, conditions before events."""

    def __init__(self) -> None:
        self._conditions: dict[str, tuple[BackgroundWrite, int]] = {}
        self._events: dict[str, tuple[BackgroundWrite, int]] = {}
        self._tokens = BURST
        self._filled_at = 0.0

    def __len__(self) -> int:
        return len(self._conditions) + len(self._events)

    def put(self, key: str, write: BackgroundWrite, epoch: int = 0) -> None:
        """Add a write with the lease epoch of its decision; it replaces one with the same key."""
        lane = self._conditions if isinstance(write, PodCondition) else self._events
        lane[key] = write, epoch

    def take(self, now: float) -> tuple[BackgroundWrite, int] | None:
        """Return the next write; None when the queue is empty or the rate limit is reached."""
        self._fill(now)
        # Events are sent only when no condition is queued, because autoscalers wait for conditions.
        lane = self._conditions or self._events
        if not lane or self._tokens < 1.0:
            return None
        self._tokens -= 1.0
        return lane.pop(next(iter(lane)))

    def rest_seconds(self, now: float) -> float | None:
        """Return the seconds until the next write is permitted; None when the queue is empty."""
        self._fill(now)
        return max(0.0, (1.0 - self._tokens) / WRITES_PER_SECOND) if len(self) else None

    def _fill(self, now: float) -> None:
        """Add the tokens for the time since the last call."""
        # A clock that is set back must not remove tokens.
        passed = max(0.0, now - self._filled_at)
        self._tokens = min(BURST, self._tokens + passed * WRITES_PER_SECOND)
        self._filled_at = now
