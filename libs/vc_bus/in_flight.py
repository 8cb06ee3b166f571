"""Back-pressure: a bounded amount of published bytes may be unacknowledged.

Whoever wants to publish more waits for room, first come first served, so that a broker that stands
still costs bounded memory and nobody overtakes. The wait is bounded too: then the broker counts as
unavailable.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from vc_bus.errors import BusUnavailableError
from vc_bus.waiting import settle, wait_until
from vc_clock import Clock

IN_FLIGHT_BYTES_MAX: Final = 32 * 1024 * 1024
"""Unacknowledged bytes of one bus."""


class InFlight:
    """The bytes under way, and who waits for room."""

    def __init__(self, clock: Clock, *, bytes_max: int = IN_FLIGHT_BYTES_MAX) -> None:
        self._clock = clock
        self._bytes_max = bytes_max
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.bytes = 0
        """Never above the bound."""

    @property
    def publishers_waiting(self) -> int:
        """How many wait for room: the measure of back-pressure."""
        return len(self._waiting)

    @asynccontextmanager
    async def room(self, size: int, *, wait_seconds: float) -> AsyncIterator[None]:
        """Hold so many bytes; a batch above the whole bound goes alone."""
        held = min(size, self._bytes_max)
        await self._enter(held, wait_seconds=wait_seconds)
        try:
            yield
        finally:
            self.bytes -= held
            self._admit()

    async def _enter(self, held: int, *, wait_seconds: float) -> None:
        if not self._waiting and self.bytes + held <= self._bytes_max:
            self.bytes += held
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (held, turn)
        self._waiting.append(place)
        try:
            await wait_until(turn, clock=self._clock, seconds=wait_seconds)
        except asyncio.CancelledError:
            self._give_up(place)
            raise
        if place in self._waiting:
            self._give_up(place)
            raise BusUnavailableError(
                f"no room to publish for {wait_seconds:g} s: "
                f"{self.bytes} bytes are not acknowledged yet"
            )

    def _give_up(self, place: tuple[int, asyncio.Future[None]]) -> None:
        """Leave the queue; a turn that came at the same moment is passed on."""
        if place in self._waiting:
            self._waiting.remove(place)
        else:
            self.bytes -= place[0]
        self._admit()

    def _admit(self) -> None:
        """Let in, in order, whoever fits now."""
        while self._waiting and self.bytes + self._waiting[0][0] <= self._bytes_max:
            held, turn = self._waiting.popleft()
            self.bytes += held
            settle(turn)
