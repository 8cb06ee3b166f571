"""Request slots for the API server: waits for a slot and measures the response (`flow`)."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from vc.runtime.applying.flow import FlowControl, Lane


class WriteSlot:
    """A request slot that is held until the response."""

    def __init__(self) -> None:
        self.overloaded: bool | None = None
        """Whether the response shows that the server is overloaded; None if no request was sent."""


class Slots:
    """The request slots of one service, shared by all its appliers."""

    def __init__(self, monotonic: Callable[[], float], *, requests_max: int) -> None:
        self._monotonic = monotonic
        self.flow = FlowControl(requests_max)
        self.turns = itertools.count()
        """Decisions that begin earlier get a lower turn."""

    @asynccontextmanager
    async def slot(self, lane: Lane, turn: int) -> AsyncIterator[WriteSlot]:
        """Waits for a slot, and holds it until the response."""
        going: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.flow.wait(lane, turn, partial(_go, going))
        try:
            await going
        except asyncio.CancelledError:
            # The slot was granted just before the cancellation, so it must be returned.
            if going.done() and not going.cancelled():
                self.flow.leave(lane)
            raise
        slot, sent_at = WriteSlot(), self._monotonic()
        try:
            yield slot
        finally:
            # A slot that was released without a request says nothing about the server.
            if slot.overloaded is not None:
                self.flow.window(lane.kind).answered(
                    sent_at=sent_at, now=self._monotonic(), overloaded=slot.overloaded
                )
            self.flow.leave(lane)


def _go(going: "asyncio.Future[None]") -> bool:
    if going.cancelled():
        return False
    going.set_result(None)
    return True
