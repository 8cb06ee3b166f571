"""Writes that no decision waits for, in their order and at a bounded rate.

Conditions of waiting pods go first, since autoscalers act on them; events follow. A newer entry about the
same object takes the older one's place, so the queue is bounded by the objects it is about. The rate is
bounded by a token bucket: a thousand pods that begin to wait at once cost the API server
`WRITES_PER_SECOND` at most, beside binds and statuses, which have requests of their own.
"""

from typing import Final

import msgspec

from vc_messages.effects import RecordEvent
from vc_scheduler.logic.decisions import PodRef

WRITES_PER_SECOND: Final = 100.0
BURST: Final = 20.0
"""Writes that may go out at once after a pause."""


class PodCondition(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that is to say PodScheduled=False."""

    pod: PodRef
    message: str


class PodEvent(msgspec.Struct, frozen=True, kw_only=True):
    """FailedScheduling on a pod, which counts only while the pod waits."""

    pod: PodRef
    message: str


BackgroundWrite = PodCondition | PodEvent | RecordEvent


class BackgroundQueue:
    """Entries by key, conditions before events."""

    def __init__(self) -> None:
        self._conditions: dict[str, tuple[BackgroundWrite, int]] = {}
        self._events: dict[str, tuple[BackgroundWrite, int]] = {}
        self._tokens = BURST
        self._filled_at = 0.0

    def __len__(self) -> int:
        return len(self._conditions) + len(self._events)

    def put(self, key: str, write: BackgroundWrite, epoch: int = 0) -> None:
        """Queue a write, with the lease epoch of its decision; one about the same key is replaced."""
        lane = self._conditions if isinstance(write, PodCondition) else self._events
        lane[key] = write, epoch

    def take(self, now: float) -> tuple[BackgroundWrite, int] | None:
        """The next write, when there is one and the rate allows it."""
        self._fill(now)
        lane = self._conditions or self._events
        if not lane or self._tokens < 1.0:
            return None
        self._tokens -= 1.0
        return lane.pop(next(iter(lane)))

    def rest_seconds(self, now: float) -> float | None:
        """Until the rate allows the next write; None when nothing is queued."""
        self._fill(now)
        return max(0.0, (1.0 - self._tokens) / WRITES_PER_SECOND) if len(self) else None

    def _fill(self, now: float) -> None:
        passed = max(0.0, now - self._filled_at)
        self._tokens = min(BURST, self._tokens + passed * WRITES_PER_SECOND)
        self._filled_at = now
