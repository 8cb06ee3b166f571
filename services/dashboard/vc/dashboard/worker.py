"""CPU-intensive work: one call at a time, with fair sharing between clients.

The client that was served least recently is next. A client with twenty requests waits for itself,
and another client waits only for the running request. A client may have a few requests in the
queue; more are refused with a retry. A request has a time limit. The thread of a request beyond its
limit keeps the worker until it ends, so that there is never more than one.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, ParamSpec, TypeVar

WAITING_EACH_MAX: Final = 3
"""Limit of waiting requests of one client."""
WAITING_MAX: Final = 64
"""Limit of waiting requests of all clients."""
WAITING_SECONDS_MAX: Final = 25.0
"""Limit of the time in the queue. Clients give up after 30 seconds."""
RUNNING_SECONDS_MAX: Final = 20.0
CLIENTS_REMEMBERED_MAX: Final = 1_000

CLIENT: Final[ContextVar[str]] = ContextVar("client", default="")
"""The client: a user or an address. The server sets it for each request."""

P = ParamSpec("P")
T = TypeVar("T")


class BusyError(Exception):
    """Too many requests of all clients are waiting."""


class ShareError(Exception):
    """Too many requests of one client are waiting."""


class TooSlowError(Exception):
    """The request exceeded its time limit."""


class Worker:
    """Runs pure functions in a worker thread."""

    def __init__(self) -> None:
        self._running = False
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        """Waiting requests per client, never an empty queue. Invariant:
        at most `WAITING_MAX` in total."""
        self._served: dict[str, None] = {}
        """Clients in the order in which they were last served, the latest at the end."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the function. Raises ShareError or BusyError without a
        turn, TooSlowError after the limit."""
        await self._turn(CLIENT.get())
        work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        # The turn ends with the thread, not with the request: a thread cannot be interrupted.
        work.add_done_callback(self._ended)
        done, _ = await asyncio.wait({work}, timeout=RUNNING_SECONDS_MAX)
        if not done:
            raise TooSlowError(
                f"the answer takes longer than {RUNNING_SECONDS_MAX:.0f} seconds; ask for less"
            )
        return work.result()

    def _ended(self, work: "asyncio.Future[T]") -> None:
        if not work.cancelled():
            work.exception()  # the caller may be gone, and an error must be read once
        self._give_turn()

    async def _turn(self, client: str) -> None:
        """Wait until a request of this client may run."""
        if not self._running:
            self._running = True
            self._note_served(client)
            return
        turn = self._queue_up(client)
        try:
            await asyncio.wait({turn}, timeout=WAITING_SECONDS_MAX)
        except asyncio.CancelledError:
            # The turn was assigned already, and must be passed on or the worker would stop.
            if turn.done():
                self._give_turn()
            self._leave(client, turn)
            raise
        # A turn may be assigned at the moment of the time-out. Then it is used, because the request
        # that had it before has passed it on.
        if not turn.done():
            self._leave(client, turn)
            raise BusyError(
                f"others were at work for {WAITING_SECONDS_MAX:.0f} seconds; try again later"
            )

    def _queue_up(self, client: str) -> "asyncio.Future[None]":
        queue = self._queues.get(client, deque())
        # Checked per client first, so that one client cannot cause a refusal for others.
        if len(queue) >= WAITING_EACH_MAX:
            raise ShareError(
                f"{WAITING_EACH_MAX} of your questions wait already; try again when they are answered"
            )
        if sum(map(len, self._queues.values())) >= WAITING_MAX:
            raise BusyError(f"{WAITING_MAX} others wait already; try again in some seconds")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._queues[client] = queue
        return turn

    def _leave(self, client: str, turn: "asyncio.Future[None]") -> None:
        queue = self._queues.get(client)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[client]

    def _give_turn(self) -> None:
        """Pass the turn to the first request of the client that was served least recently."""
        if not self._queues:
            self._running = False
            return
        # A client that was never served comes before all others.
        order = {client: number for number, client in enumerate(self._served)}
        client = min(self._queues, key=lambda waiting: order.get(waiting, -1))
        turn = self._queues[client][0]
        self._leave(client, turn)
        # Noted at the start of the work, so that requests that arrive meanwhile see this client as
        # served last.
        self._note_served(client)
        turn.set_result(None)

    def _note_served(self, client: str) -> None:
        self._served.pop(client, None)
        self._served[client] = None
        # Bounded, because clients are addresses or users of any number.
        if len(self._served) > CLIENTS_REMEMBERED_MAX:
            del self._served[next(iter(self._served))]
