"""When counters are written: a moment after they changed, together with what changes right after.

Phases are written at once and bring the counters along; this is about changes that bring nothing else.
They rest for a moment, since pods start one after the other, and longer while the job has no pods (only
what its plugins answered is new, and its pods are about to follow) or while we are behind with our
work. In any case they are written within a named time: nothing is put off twice.
"""

from typing import Final

COUNTERS_PERIOD_SECONDS: Final = 1.0
"""Between two writes of a job that bring nothing but counters."""

COUNTERS_REST_SECONDS: Final = 0.2
BUSY_REST_SECONDS: Final = 1.0
NO_PODS_REST_SECONDS: Final = 5.0


class Pacing:
    """Per job, when its status was last written and since when its counters are late; monotonic."""

    def __init__(self) -> None:
        self._written_at: dict[str, float] = {}
        self._late_since: dict[str, float] = {}

    def is_due(self, key: str, *, now: float, pods: int, busy: bool) -> bool:
        """Whether counters that are late may be written now."""
        return key in self._late_since and now >= self._due_at(key, pods=pods, busy=busy)

    def late(self, key: str, *, now: float, pods: int, busy: bool) -> float:
        """Counters have changed and were not written: in how many seconds to look again."""
        self._late_since.setdefault(key, now)
        return max(0.0, self._due_at(key, pods=pods, busy=busy) - now)

    def written(self, key: str, *, now: float) -> None:
        """The status was written, with all that was late."""
        self._written_at[key] = now
        self._late_since.pop(key, None)

    def forget(self, key: str) -> None:
        """The job is gone."""
        self._written_at.pop(key, None)
        self._late_since.pop(key, None)

    def _due_at(self, key: str, *, pods: int, busy: bool) -> float:
        rest = BUSY_REST_SECONDS if busy else COUNTERS_REST_SECONDS
        rested = self._late_since[key] + (rest if pods else NO_PODS_REST_SECONDS)
        written_at = self._written_at.get(key)
        return rested if written_at is None else max(rested, written_at + COUNTERS_PERIOD_SECONDS)
