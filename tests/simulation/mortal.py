"""Adapters of a process that can die at any call.

A `Life` is one run of one service. Its adapters are wrapped so that every call is a numbered point:
*before* it nothing has happened, *after* it everything has and nobody was told. At the chosen point
the life ends: the call does not return, every later call fails too (a dead process releases no
lease and leaves no group), and the harness starts a new life. Polls that bring nothing are no points.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any

from vc.messages.record import Record


class ProcessDied(BaseException):
    """The process is dead; no `except Exception` sees this, as none would see a SIGKILL."""


class Life:
    """Counts the calls of one run of a service, and ends it at a chosen one."""

    def __init__(self, *, die_at: int | None = None) -> None:
        self.points: list[str] = []
        """Names of the points reached, in order."""
        self.over = asyncio.Event()
        self._die_at = die_at

    def reach(self, name: str) -> None:
        """A point; the life may end here."""
        if self.over.is_set():
            raise ProcessDied(f"{name} after death")
        number = len(self.points)
        self.points.append(name)
        if number == self._die_at:
            self.end(name)

    def end(self, name: str) -> None:
        """Die now."""
        self.over.set()
        raise ProcessDied(name)

    def check(self) -> None:
        """Nothing works after death."""
        if self.over.is_set():
            raise ProcessDied("after death")


class Mortal:
    """Stands for an adapter, or for something an adapter handed out (a reader, a member)."""

    def __init__(self, real: Any, life: Life, *, name: str) -> None:
        self._real = real
        self._life = life
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        member = getattr(self._real, attribute)
        if not callable(member):
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            result = member(*args, **kwargs)
            if inspect.isasyncgen(result) or hasattr(result, "__anext__"):
                return self._iterate(result, f"{self._name}.{attribute}")
            if inspect.isawaitable(result):
                return self._await(result, f"{self._name}.{attribute}")
            return result

        return call

    async def _await(self, result: Any, name: str) -> Any:
        polling = name.endswith(".poll")
        try:
            if polling:
                self._life.check()
            else:
                self._life.reach(f"before {name}")
        except ProcessDied:
            result.close()
            raise
        value = await result
        if not polling or _brought(value):
            self._life.reach(f"after {name}")
        self._life.check()
        if hasattr(value, "poll"):
            return Mortal(value, self._life, name=name)
        return value

    async def _iterate(self, events: AsyncIterator[Any], name: str) -> AsyncIterator[Any]:
        self._life.reach(f"before {name}")
        async for event in events:
            self._life.reach(f"after {name}")
            yield event


def _brought(polled: Any) -> bool:
    records: list[Record] = polled if isinstance(polled, list) else polled.records
    return bool(records)
