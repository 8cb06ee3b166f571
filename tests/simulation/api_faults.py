"""An API server that fails now and then: busy, broken, or acting without an answer.

Everything here happens on real ones: a request is refused before anything was done (429, 500), or it was
done and the answer is lost; a watch breaks off or its version is too old (410). Drawn from a seed.
"""

import inspect
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from vc.clock import Clock
from vc.cluster import ClusterError, GoneError, ServerError, TooManyRequestsError


class ApiFaults(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how much; the default is a faultless API server."""

    busy_rate: float = 0.0
    """Share of requests that are answered with 429."""
    refused_rate: float = 0.0
    """Share of requests that are answered with 500 and not carried out."""
    lost_answer_rate: float = 0.0
    """Share of requests that are carried out and answered with 500."""
    slow_seconds_max: float = 0.0
    """A request takes up to so long."""
    watch_cut_rate: float = 0.0
    """Share of watch events after which the stream breaks off, half of them with 410."""


class FaultyApi:
    """Stands for a cluster adapter; the same seed and the same calls give the same faults."""

    def __init__(self, real: Any, faults: ApiFaults, *, clock: Clock, seed: str) -> None:
        self._real = real
        self._faults = faults
        self._clock = clock
        self._random = random.Random(seed)
        self.injected = 0

    def __getattr__(self, attribute: str) -> Any:
        member = getattr(self._real, attribute)
        if not callable(member) or attribute == "close":
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            if inspect.iscoroutinefunction(member):
                return self._await(partial(member, *args, **kwargs))
            result = member(*args, **kwargs)
            return self._iterate(result) if hasattr(result, "__anext__") else result

        return call

    async def _await(self, request: Callable[[], Awaitable[Any]]) -> Any:
        """The request is only made here: one that is never awaited leaves nothing behind."""
        faults = self._faults
        if faults.slow_seconds_max:
            await self._clock.sleep(self._random.uniform(0.0, faults.slow_seconds_max))
        drawn = self._random.random()
        if drawn < faults.busy_rate + faults.refused_rate:
            raise self._error(busy=drawn < faults.busy_rate)
        value = await request()
        if self._random.random() < faults.lost_answer_rate:
            raise self._error(busy=False)
        return value

    async def _iterate(self, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for event in events:
            yield event
            if self._random.random() < self._faults.watch_cut_rate:
                self.injected += 1
                if self._random.random() < 0.5:
                    raise GoneError("too old resource version")
                raise ServerError("connection reset by peer")

    def _error(self, *, busy: bool) -> ClusterError:
        self.injected += 1
        if busy:
            return TooManyRequestsError("the server is busy", retry_after_seconds=1.0)
        return ServerError("internal error")
