"""Keys that want attention, each at most once at a time.

A key that is added again while it waits is the same piece of work; one that is added while it is
being worked on is worked on once more afterwards. A key that failed comes back later and later.
"""

import heapq

from vc_runtime.backoff import delay_seconds, told_delay_seconds
from vc_runtime.context import Context


class WorkQueue:
    """Due keys in the order of their times; synchronous, so a shell decides when to look."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._due_at: dict[str, float] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = 0
        self._attempts: dict[str, int] = {}
        """Only keys that failed since they last succeeded."""

    def __len__(self) -> int:
        return len(self._due_at)

    def add(self, key: str, *, delay: float = 0.0) -> None:
        """Want attention for a key; an earlier wish stands, a later one is replaced."""
        due = self._context.clock.monotonic() + delay
        known = self._due_at.get(key)
        if known is not None and known <= due:
            return
        self._due_at[key] = due
        self._order += 1
        heapq.heappush(self._heap, (due, self._order, key))

    def retry(self, key: str, *, least: float = 0.0) -> float:
        """Come back later, longer each time, and not before `least` seconds; gives the delay."""
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        delay = delay_seconds(attempt, self._context.chance)
        if least:
            delay = max(delay, told_delay_seconds(least, self._context.chance))
        self.add(key, delay=delay)
        return delay

    def succeeded(self, key: str) -> None:
        """Start counting anew at the next failure."""
        self._attempts.pop(key, None)

    def forget(self, key: str) -> None:
        """The key is gone, or not ours any more."""
        self._attempts.pop(key, None)
        self._due_at.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self._due_at.clear()
        self._heap.clear()
        self._attempts.clear()

    def take_due(self, *, limit: int) -> list[str]:
        """Keys whose time has come, oldest first; they are no longer in the queue."""
        now = self._context.clock.monotonic()
        taken: list[str] = []
        while self._heap and len(taken) < limit and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            if self._due_at.get(key) == due:
                del self._due_at[key]
                taken.append(key)
        return taken

    def seconds_until_due(self, *, at_most: float) -> float:
        """How long a shell may wait for news before a key is due."""
        while self._heap and self._due_at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        if not self._heap:
            return at_most
        return max(0.0, min(at_most, self._heap[0][0] - self._context.clock.monotonic()))
