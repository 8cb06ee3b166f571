"""Measures how long parts of a session take. The engine itself has no clock.

The shell passes in a `Stopwatch`. It only observes: no decision can depend on it, so a replay
without one yields the same bytes.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

ACTION: Final = "action"
PREDICATE: Final = "predicate"
SCORING: Final = "scoring"


class Stopwatch(Protocol):
    """Measures named parts of a session."""

    def part(self, what: str, name: str) -> AbstractContextManager[None]:
        """Enclose an action, or the work of one plugin in `PREDICATE` or `SCORING`."""
        ...


class NoStopwatch:
    """The stopwatch of sessions whose durations are not reported, such as simulations."""

    def part(self, what: str, name: str) -> AbstractContextManager[None]:
        del what, name
        return nullcontext()


NO_STOPWATCH: Final = NoStopwatch()
