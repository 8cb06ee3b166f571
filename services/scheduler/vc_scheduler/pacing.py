"""How often the scheduler does what it would do all the time: sessions, and writes of a queue's figures."""

from typing import Final

QUEUE_STATUS_SECONDS: Final = 1.0
"""Between two writes of one queue's `status.allocated`."""
SESSION_REST_SECONDS_MAX: Final = 0.25
"""Sessions rest for as long as the last one took, up to this: on a slow machine there are not more of
them for the same work, and each finds more to do."""


class SessionPace:
    """At most one session per debounce, and never more than half of the time in sessions that are short."""

    def __init__(self, debounce_seconds: float) -> None:
        self._debounce = debounce_seconds
        self._ended_at = float("-inf")
        self._took = 0.0

    def ended(self, now: float, *, began: float) -> float:
        """A session is over; how long it took. Monotonic times."""
        self._ended_at, self._took = now, now - began
        return self._took

    def rest_seconds(self, now: float) -> float:
        """Until the next one may open; not above 0 when it may now."""
        pause = max(self._debounce, min(self._took, SESSION_REST_SECONDS_MAX))
        return self._ended_at + pause - now


class QueuePace:
    """Which queues may be written; bounded by the queues there were."""

    def __init__(self) -> None:
        self._written_at: dict[str, float] = {}

    def rest_seconds(self, queue: str, *, now: float) -> float:
        """Until it may be written, monotonic; not above 0 when it is written now."""
        rest = self._written_at.get(queue, float("-inf")) + QUEUE_STATUS_SECONDS - now
        if rest <= 0:
            self._written_at[queue] = now
        return rest
