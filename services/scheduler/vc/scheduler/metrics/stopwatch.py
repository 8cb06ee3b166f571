"""The stopwatch of the service: total duration of each part of a session."""

from collections.abc import Iterator
from contextlib import contextmanager

from vc.clock import Clock


class SessionStopwatch:
    """Durations of one session; used by the thread of the session and read after it ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seconds: dict[tuple[str, str], float] = {}
        """By kind of part and name: the sum of seconds."""

    @contextmanager
    def part(self, what: str, name: str) -> Iterator[None]:
        """Add the duration of the block to the part."""
        began = self._clock.monotonic()
        try:
            yield
        finally:
            took = self._clock.monotonic() - began
            self.seconds[what, name] = self.seconds.get((what, name), 0.0) + took
