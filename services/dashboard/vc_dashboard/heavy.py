"""Work that takes a core for a while: one at a time, a few in line, the rest is told to come again."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

RUNNING_MAX: Final = 1
WAITING_MAX: Final = 8

P = ParamSpec("P")
T = TypeVar("T")


class BusyError(Exception):
    """Too many ask at the same time."""


class HeavyWork:
    """Runs pure functions in a worker thread."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(RUNNING_MAX)
        self._waiting = 0
        """Invariant: at most `WAITING_MAX`."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Its result; BusyError when the line is full."""
        if self._waiting >= WAITING_MAX:
            raise BusyError(f"{WAITING_MAX} others wait already; try again in some seconds")
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            return await asyncio.to_thread(function, *args, **kwargs)
        finally:
            self._slots.release()
