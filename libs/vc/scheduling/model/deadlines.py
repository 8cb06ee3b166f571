"""One registry of the times at which a decision may change without an event.

A session is opened by an event or at `Decisions.wake_at`. So everything that waits for a time
registers its expiry here: parts of the cache through `Expiring`, actions and plugins through
`Session.wake`. A decision that starts a timer (an eviction, a status) registers it at once, because
observing its own write opens no session. `tests/properties/scheduling/test_wake_ups.py` checks that
none is missing.
"""

from collections.abc import Iterable
from typing import Protocol


class Expiring(Protocol):
    """A part of the cache with entries that expire."""

    def expiries(self) -> Iterable[float]:
        """The time at which each entry expires; times in the past are allowed."""
        ...

    def shift(self, seconds: float) -> None:
        """Move all entries after the clock was changed by that many seconds, so that their
        durations stay the same."""
        ...


class Deadlines:
    """The earliest of the registered times after `now`."""

    def __init__(self, *, now: float) -> None:
        self._now = now
        self._first: float | None = None

    def add(self, at: float | None) -> None:
        """Register a time. Times up to `now` are ignored, because their change has already happened."""
        if at is not None and at > self._now:
            self._first = at if self._first is None else min(self._first, at)

    def add_all(self, parts: Iterable[Expiring]) -> None:
        """Register all expiries of these parts of the cache."""
        for part in parts:
            for at in part.expiries():
                self.add(at)

    @property
    def first(self) -> float | None:
        """The earliest time; None if nothing expires."""
        return self._first


def first_expiry(parts: Iterable[Expiring], *, now: float) -> float | None:
    """The next expiry in the cache. Call it after expired entries were dropped."""
    deadlines = Deadlines(now=now)
    deadlines.add_all(parts)
    return deadlines.first
