"""Who wants to know how long parts of a session take; the logic itself has no clock.

A `Stopwatch` comes from the shell and only listens: nothing that is decided can depend on it, so a
replay without one gives the same bytes.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

ACTION: Final = "action"
PREDICATE: Final = "predicate"
SCORING: Final = "scoring"


class Stopwatch(Protocol):
    """Measures named parts."""

    def part(self, what: str, name: str) -> AbstractContextManager[None]:
        """Around an action, or a plugin's part in `PREDICATE` or `SCORING`."""
        ...


class NoStopwatch:
    """Nobody wants to know."""

    def part(self, what: str, name: str) -> AbstractContextManager[None]:
        del what, name
        return nullcontext()


NO_STOPWATCH: Final = NoStopwatch()
