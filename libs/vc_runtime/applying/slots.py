"""Requests under way at the API server: waiting for one's turn, and measuring the answer (`flow`)."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from vc_runtime.applying.flow import Flow, Lane


class Slot:
    """One request that is under way."""

    def __init__(self) -> None:
        self.overloaded: bool | None = None
        """Whether the answer says that the server has too much to do; None when nothing was asked."""


class Slots:
    """Shared by all who write for one service."""

    def __init__(self, monotonic: Callable[[], float], *, requests_max: int) -> None:
        self._monotonic = monotonic
        self.flow = Flow(requests_max)
        self.turns = itertools.count()
        """What was begun first has the lower turn."""

    @asynccontextmanager
    async def slot(self, lane: Lane, turn: int) -> AsyncIterator[Slot]:
        """One's turn, from being let go until the answer."""
        going: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.flow.wait(lane, turn, partial(_go, going))
        try:
            await going
        except asyncio.CancelledError:
            if going.done() and not going.cancelled():
                self.flow.leave(lane)
            raise
        slot, sent_at = Slot(), self._monotonic()
        try:
            yield slot
        finally:
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
