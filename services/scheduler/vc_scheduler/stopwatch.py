"""The shell's stopwatch: how long each part of one session took, added up."""

from collections.abc import Iterator
from contextlib import contextmanager

from vc_clock import Clock


class SessionStopwatch:
    """Of one session; it is used by the thread that runs it and read when that has ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seconds: dict[tuple[str, str], float] = {}
        """(what, name) to the sum."""

    @contextmanager
    def part(self, what: str, name: str) -> Iterator[None]:
        began = self._clock.monotonic()
        try:
            yield
        finally:
            took = self._clock.monotonic() - began
            self.seconds[what, name] = self.seconds.get((what, name), 0.0) + took
