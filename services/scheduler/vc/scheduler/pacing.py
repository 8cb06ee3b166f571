"""Limits the rate of sessions and of status writes of queues."""

from typing import Final

QUEUE_STATUS_SECONDS: Final = 1.0
"""Minimum interval between two writes of the `status.allocated` of a queue."""
SESSION_REST_SECONDS_MAX: Final = 0.25
"""Upper bound of the pause after a session.

The pause is as long as the last session. On a slow machine there are fewer sessions for the same
changes, and each of them handles more.
"""


class SessionPace:
    """Allows at most one session per debounce, and at most half of the time for short sessions."""

    def __init__(self, debounce_seconds: float) -> None:
        self._debounce = debounce_seconds
        self._ended_at = float("-inf")
        self._took = 0.0

    def ended(self, now: float, *, began: float) -> float:
        """Record the end of a session and return its duration; monotonic times."""
        self._ended_at, self._took = now, now - began
        return self._took

    def rest_seconds(self, now: float) -> float:
        """Return the seconds until the next session may open; 0 or less when it may open now."""
        pause = max(self._debounce, min(self._took, SESSION_REST_SECONDS_MAX))
        return self._ended_at + pause - now


class QueuePace:
    """Allows one status write per queue and interval; bounded by the queues seen so far."""

    def __init__(self) -> None:
        self._written_at: dict[str, float] = {}

    def rest_seconds(self, queue: str, *, now: float) -> float:
        """Return the seconds until the queue may be written; 0 or less counts as written now."""
        rest = self._written_at.get(queue, float("-inf")) + QUEUE_STATUS_SECONDS - now
        if rest <= 0:
            self._written_at[queue] = now
        return rest
