"""De-duplicating work queue with exponential backoff per key.

A key that is added again while it waits is processed once. A key that is added while it is being
processed is processed once more. A failed key is retried with growing delays.
"""

import heapq

from vc.model.values.backoff import delay_seconds, retry_after_seconds
from vc.runtime.hosting.context import Context


class WorkQueue:
    """Due keys in the order of their times. It is synchronous:
    the caller decides when to poll it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._due_at: dict[str, float] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = 0
        self._attempts: dict[str, int] = {}
        """Failed attempts by key, only of keys that failed since their last success."""

    def __len__(self) -> int:
        return len(self._due_at)

    def add(self, key: str, *, delay: float = 0.0) -> None:
        """Queue a key. If it is queued already, the earlier of the two times is used."""
        due = self._context.clock.monotonic() + delay
        known = self._due_at.get(key)
        # An earlier entry already covers this request.
        if known is not None and known <= due:
            return
        self._due_at[key] = due
        self._order += 1
        heapq.heappush(self._heap, (due, self._order, key))

    def retry(self, key: str, *, least: float = 0.0) -> float:
        """Queue a failed key with backoff, and not before `least` seconds; returns the delay."""
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        delay = delay_seconds(attempt, self._context.rng)
        # The server's Retry-After is a minimum; our own backoff may be longer.
        if least:
            delay = max(delay, retry_after_seconds(least, self._context.rng))
        self.add(key, delay=delay)
        return delay

    def succeeded(self, key: str) -> None:
        """Reset the backoff of a key."""
        self._attempts.pop(key, None)

    def forget(self, key: str) -> None:
        """Drop a key that is gone or no longer ours."""
        self._attempts.pop(key, None)
        self._due_at.pop(key, None)

    def clear(self) -> None:
        """Drop all keys and the counts of their failed attempts."""
        self._due_at.clear()
        self._heap.clear()
        self._attempts.clear()

    def take_due(self, *, limit: int) -> list[str]:
        """Remove and return due keys, oldest first."""
        now = self._context.clock.monotonic()
        taken: list[str] = []
        while self._heap and len(taken) < limit and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            # An entry with another time was replaced by an earlier one, or its key was dropped.
            if self._due_at.get(key) == due:
                del self._due_at[key]
                taken.append(key)
        return taken

    def seconds_until_due(self, *, at_most: float) -> float:
        """How long a caller may wait for other input before a key is due."""
        # Entries of dropped or replaced keys would wake the caller before anything is due.
        while self._heap and self._due_at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        if not self._heap:
            return at_most
        return max(0.0, min(at_most, self._heap[0][0] - self._context.clock.monotonic()))
