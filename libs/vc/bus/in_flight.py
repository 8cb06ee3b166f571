"""Back-pressure: the number of published and unacknowledged bytes is bounded.

A publisher beyond the limit waits, in FIFO order, so that a stalled broker costs bounded memory.
The wait is bounded too; after it the broker counts as unavailable.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from vc.bus.errors import BusUnavailableError
from vc.bus.waiting import resolve, wait_until
from vc.clock import Clock

IN_FLIGHT_BYTES_MAX: Final = 32 * 1024 * 1024
"""Limit of unacknowledged bytes of one bus."""


class InFlight:
    """Counts unacknowledged bytes, and queues publishers beyond the limit."""

    def __init__(self, clock: Clock, *, bytes_max: int = IN_FLIGHT_BYTES_MAX) -> None:
        self._clock = clock
        self._bytes_max = bytes_max
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.bytes = 0
        """Current number of bytes; never above the limit."""

    @property
    def publishers_waiting(self) -> int:
        """The number of waiting publishers: the measure of back-pressure."""
        return len(self._waiting)

    @asynccontextmanager
    async def reserve(self, size: int, *, wait_seconds: float) -> AsyncIterator[None]:
        """Acquire this many bytes for the duration of the block;
        a batch larger than the limit is sent alone.
        """
        # Without the cap a batch above the limit could never enter. Capped, it waits until nothing
        # else is in flight, so it is sent alone and the service makes progress.
        held = min(size, self._bytes_max)
        await self._enter(held, wait_seconds=wait_seconds)
        try:
            yield
        finally:
            # Also after a failure: bytes that are never returned would block the bus for good.
            self.bytes -= held
            self._admit()

    async def _enter(self, held: int, *, wait_seconds: float) -> None:
        # A publisher that fits must still queue behind waiting ones, or large batches would starve.
        if not self._waiting and self.bytes + held <= self._bytes_max:
            self.bytes += held
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (held, turn)
        self._waiting.append(place)
        try:
            await wait_until(turn, clock=self._clock, seconds=wait_seconds)
        # A cancelled publisher that stayed would be granted bytes that it never returns.
        except asyncio.CancelledError:
            self._give_up(place)
            raise
        # Admission and time limit resolve the same future; only the queue shows which it was.
        if place in self._waiting:
            self._give_up(place)
            raise BusUnavailableError(
                f"no free in-flight bytes for {wait_seconds:g} s: "
                f"{self.bytes} bytes are not acknowledged yet"
            )

    def _give_up(self, place: tuple[int, asyncio.Future[None]]) -> None:
        """Leave the queue. If the bytes were granted at the same moment, they are returned."""
        if place in self._waiting:
            self._waiting.remove(place)
        else:
            self.bytes -= place[0]
        # The publisher that left may have been the first, and the next one may be smaller.
        self._admit()

    def _admit(self) -> None:
        """Admit waiting publishers in order, as long as they fit."""
        # Stops at the first that does not fit. Passing it over would let small batches starve it.
        while self._waiting and self.bytes + self._waiting[0][0] <= self._bytes_max:
            held, turn = self._waiting.popleft()
            self.bytes += held
            resolve(turn)
