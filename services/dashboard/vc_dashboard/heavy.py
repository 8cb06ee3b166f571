"""Work that takes a core for a while: one at a time, and every client has the same share of it.

Whoever was served least recently is next, so a client that asks twenty questions at once waits for
itself: another one waits for the question that is being answered, and no longer. A client may have a few
questions in line; the rest is told to come again. A question has a time limit; the thread of one that
passed it keeps its place until it ends, so that there is never more than one.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, ParamSpec, TypeVar

WAITING_EACH_MAX: Final = 3
"""In line, of one client."""
WAITING_MAX: Final = 64
"""In line, of all."""
WAITING_SECONDS_MAX: Final = 25.0
"""In line; clients give up after 30."""
RUNNING_SECONDS_MAX: Final = 20.0
CLIENTS_REMEMBERED_MAX: Final = 1_000

ASKER: Final[ContextVar[str]] = ContextVar("asker", default="")
"""Who asks: a user or an address. The server sets it for each request."""

P = ParamSpec("P")
T = TypeVar("T")


class BusyError(Exception):
    """Too many ask at the same time."""


class ShareError(Exception):
    """One client asks too much at the same time."""


class TooSlowError(Exception):
    """The question takes longer than any may."""


class HeavyWork:
    """Runs pure functions in a worker thread."""

    def __init__(self) -> None:
        self._running = False
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}
        """Per client; never an empty one. Invariant: at most `WAITING_MAX` in all."""
        self._served: dict[str, None] = {}
        """Clients by when they were last served, the latest at the end."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Its result; ShareError or BusyError when it has no turn, TooSlowError when it does not end."""
        await self._turn(ASKER.get())
        work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        work.add_done_callback(self._ended)
        done, _ = await asyncio.wait({work}, timeout=RUNNING_SECONDS_MAX)
        if not done:
            raise TooSlowError(
                f"the answer takes longer than {RUNNING_SECONDS_MAX:.0f} seconds; ask for less"
            )
        return work.result()

    def _ended(self, work: "asyncio.Future[T]") -> None:
        if not work.cancelled():
            work.exception()  # whoever asked may be gone, and then nobody else looks at it
        self._give_turn()

    async def _turn(self, client: str) -> None:
        """Return when this client's question may run."""
        if not self._running:
            self._running = True
            self._note_served(client)
            return
        turn = self._line_up(client)
        try:
            await asyncio.wait({turn}, timeout=WAITING_SECONDS_MAX)
        except asyncio.CancelledError:
            if turn.done():
                self._give_turn()
            self._leave(client, turn)
            raise
        if not turn.done():
            self._leave(client, turn)
            raise BusyError(
                f"others were at work for {WAITING_SECONDS_MAX:.0f} seconds; try again later"
            )

    def _line_up(self, client: str) -> "asyncio.Future[None]":
        line = self._lines.get(client, deque())
        if len(line) >= WAITING_EACH_MAX:
            raise ShareError(
                f"{WAITING_EACH_MAX} of your questions wait already; try again when they are answered"
            )
        if sum(map(len, self._lines.values())) >= WAITING_MAX:
            raise BusyError(f"{WAITING_MAX} others wait already; try again in some seconds")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        self._lines[client] = line
        return turn

    def _leave(self, client: str, turn: "asyncio.Future[None]") -> None:
        line = self._lines.get(client)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._lines[client]

    def _give_turn(self) -> None:
        """To the first question of the client who was served least recently."""
        if not self._lines:
            self._running = False
            return
        order = {client: number for number, client in enumerate(self._served)}
        client = min(self._lines, key=lambda waiting: order.get(waiting, -1))
        turn = self._lines[client][0]
        self._leave(client, turn)
        self._note_served(client)
        turn.set_result(None)

    def _note_served(self, client: str) -> None:
        self._served.pop(client, None)
        self._served[client] = None
        if len(self._served) > CLIENTS_REMEMBERED_MAX:
            del self._served[next(iter(self._served))]
