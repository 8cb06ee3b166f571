"""Work that takes a core for a while: one at a time, a few in line, the rest is told to come again."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

RUNNING_MAX: Final = 1
WAITING_MAX: Final = 8
WAITING_SECONDS_MAX: Final = 15.0
"""In line; clients give up after 30, and an answer takes some time too."""

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
        """Its result; BusyError when the line is full, or does not move."""
        if self._waiting >= WAITING_MAX:
            raise BusyError(f"{WAITING_MAX} others wait already; try again in some seconds")
        self._waiting += 1
        try:
            async with asyncio.timeout(WAITING_SECONDS_MAX):
                await self._slots.acquire()
        except TimeoutError:
            raise BusyError(
                f"others were at work for {WAITING_SECONDS_MAX:.0f} seconds; try again later"
            ) from None
        finally:
            self._waiting -= 1
        try:
            return await asyncio.to_thread(function, *args, **kwargs)
        finally:
            self._slots.release()
