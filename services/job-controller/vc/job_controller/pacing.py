"""When counters are written: shortly after they changed, together with the next changes.

Phases are written at once and include the counters. This module paces changes that consist of
counters alone. They wait for a moment, since pods start one after another. They wait longer while
the job has no pods (only the answers of plugins are new, and pods will follow) or while all workers
are busy. They are always written within a fixed time: the delay is never extended.
"""

from typing import Final

COUNTERS_PERIOD_SECONDS: Final = 1.0
"""Time between two writes of a job that contain only counters."""

COUNTERS_REST_SECONDS: Final = 0.2
BUSY_REST_SECONDS: Final = 1.0
NO_PODS_REST_SECONDS: Final = 5.0

LARGE_JOB_PODS: Final = 500
COALESCE_SECONDS_PER_POD: Final = 2e-5
COALESCE_SECONDS_MAX: Final = 0.25


class Pacing:
    """Per job, when its status was last written and since when its
    counters are late (monotonic)."""

    def __init__(self) -> None:
        self._written_at: dict[str, float] = {}
        self._late_since: dict[str, float] = {}

    def is_due(self, key: str, *, now: float, pods: int, busy: bool) -> bool:
        """Whether late counters may be written now."""
        return key in self._late_since and now >= self._due_at(key, pods=pods, busy=busy)

    def late(self, key: str, *, now: float, pods: int, busy: bool) -> float:
        """Note that counters changed and were not written; return
        the seconds until they are due."""
        self._late_since.setdefault(key, now)
        return max(0.0, self._due_at(key, pods=pods, busy=busy) - now)

    def written(self, key: str, *, now: float) -> None:
        """Note that the status was written with all late counters."""
        self._written_at[key] = now
        self._late_since.pop(key, None)

    def forget(self, key: str) -> None:
        """Drop the state of a deleted job."""
        self._written_at.pop(key, None)
        self._late_since.pop(key, None)

    def _due_at(self, key: str, *, pods: int, busy: bool) -> float:
        rest = BUSY_REST_SECONDS if busy else COUNTERS_REST_SECONDS
        rested = self._late_since[key] + (rest if pods else NO_PODS_REST_SECONDS)
        written_at = self._written_at.get(key)
        return rested if written_at is None else max(rested, written_at + COUNTERS_PERIOD_SECONDS)


def coalesce_seconds(pods: int) -> float:
    """How long a job waits after a change, so that one decision covers many changes.

    A decision costs about 8 µs a pod. Changes of a large job arrive by the thousand, and it must not
    use the whole event loop; a small job is decided at once.
    """
    if pods < LARGE_JOB_PODS:
        return 0.0
    return min(pods * COALESCE_SECONDS_PER_POD, COALESCE_SECONDS_MAX)
