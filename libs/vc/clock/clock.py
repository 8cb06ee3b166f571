"""Wall time for objects and display, monotonic time for time-outs, and sleeping."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """The time interface of a shell.

    `now` is used in decisions and in objects that other services read. Time-outs, leases and
    staleness use only `monotonic`. `wall` is for spans and metrics: no decision depends on one
    machine's wall clock.
    """

    def now(self) -> float:
        """Seconds since the Unix epoch; the API server's time if the process follows it."""
        ...

    def wall(self) -> float:
        """Seconds since the Unix epoch, with fractions, for spans and metrics only."""
        ...

    def monotonic(self) -> float:
        """Seconds that never decrease; comparable only within this process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds while other tasks run."""
        ...


class LoopClock:
    """Follows the running event loop, so it is real on a real loop and virtual on a VirtualLoop."""

    def __init__(self, *, wall_at_zero: float | None = None) -> None:
        """`wall_at_zero` is the wall time at loop time 0;
        without it the machine's clock is used.
        """
        self._wall_at_zero = wall_at_zero

    def now(self) -> float:
        if self._wall_at_zero is None:
            return time.time()
        return self._wall_at_zero + self.monotonic()

    def wall(self) -> float:
        return self.now()

    def monotonic(self) -> float:
        try:
            return asyncio.get_running_loop().time()
        except RuntimeError:  # called from a worker thread, or before the loop runs
            return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
