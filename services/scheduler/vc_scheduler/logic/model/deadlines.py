"""When a decision may change although nothing happens: one registry for everything that waits for time.

A session is opened by news or at `Decisions.wake_at`. Whatever waits for time therefore registers its
expiry here: parts of the cache through `Expiring`, actions and plugins through `Session.wake`, and a
decision that starts a timer (an eviction, a status) when it is made, because its own write coming back
opens no session. `tests/properties/scheduler/test_wake_ups.py` holds that nothing is missing.
"""

from collections.abc import Iterable
from typing import Protocol


class Expiring(Protocol):
    """A part of the cache with entries that end at a time."""

    def expiries(self) -> Iterable[float]:
        """When each entry ends; times that have passed are allowed."""
        ...

    def shift(self, seconds: float) -> None:
        """The clock that `now` comes from was set by so much: every entry lasts as long as it did."""
        ...


class Deadlines:
    """Times after `now`, of which the first one counts."""

    def __init__(self, *, now: float) -> None:
        self._now = now
        self._first: float | None = None

    def add(self, at: float | None) -> None:
        """Something changes then. What is over has changed already and is not waited for."""
        if at is not None and at > self._now:
            self._first = at if self._first is None else min(self._first, at)

    def add_all(self, parts: Iterable[Expiring]) -> None:
        """Everything these parts of the cache wait for."""
        for part in parts:
            for at in part.expiries():
                self.add(at)

    @property
    def first(self) -> float | None:
        """When a session is wanted at the latest; None when nothing waits for time."""
        return self._first


def first_expiry(parts: Iterable[Expiring], *, now: float) -> float | None:
    """The next time at which something in the cache ends; ask after what is over was dropped."""
    deadlines = Deadlines(now=now)
    deadlines.add_all(parts)
    return deadlines.first
