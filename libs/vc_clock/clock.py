"""Wall time for people and objects, monotonic time for time-outs, and sleeping."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What a shell may ask about time.

    `now` goes into decisions and into objects that others read. Time-outs, leases and staleness use
    `monotonic` only. `wall` is for spans and meters: no decision depends on one machine's wall clock.
    """

    def now(self) -> float:
        """Seconds since the epoch; the API server's where the process follows it."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch, to fractions of a second, for spans and meters only."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; comparable only within this process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let others run for so long."""
        ...


class LoopClock:
    """Follows the running event loop, so it is real on a real loop and virtual on a VirtualLoop."""

    def __init__(self, *, wall_at_zero: float | None = None) -> None:
        """`wall_at_zero` is the wall time at loop time 0; without it the machine's clock counts."""
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
        except RuntimeError:  # asked from a worker thread or before the loop runs
            return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
