"""An API server that answers late, as a client with deadlines meets it.

A request that takes longer than its client waits is carried out all the same, as with a real server, and the
client is told that no answer came. Counts what every service asks for.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from tests.simulation.mortal import Life, Mortal
from tests.simulation.stack import Stack
from vc.clock import Clock
from vc.cluster import UnavailableError
from vc.cluster.kubernetes_http import Limits
from vc.model.api.kinds import LEASES
from vc.runtime.hosting.context import Context

LIMITS = Limits()
SECONDS_MAX = {"get": LIMITS.get_seconds_max, "list": LIMITS.list_seconds_max}


class Weather:
    """How late answers come, and what was asked for."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.lease_seconds: float | None = None
        """Of answers about Leases, if others."""
        self.asked: Counter[str] = Counter()
        """`service verb kind`."""


class SlowCluster:
    """One service's way to the API server."""

    def __init__(self, real: Any, weather: Weather, clock: Clock, *, service: str) -> None:
        self._real = real
        self._weather = weather
        self._clock = clock
        self._service = service

    def __getattr__(self, verb: str) -> Any:
        member = getattr(self._real, verb)
        if not callable(member):
            return member

        def call(*args: Any, **named: Any) -> Any:
            kind = args[0].short if args else "pods"
            self._weather.asked[f"{self._service} {verb} {kind}"] += 1
            ask = partial(member, *args, **named)
            if verb == "watch":
                return self._watch(ask)
            lease = bool(args) and args[0] is LEASES
            return self._answer(ask, verb, lease=lease)

        return call

    async def _answer(self, ask: Callable[[], Any], verb: str, *, lease: bool) -> Any:
        late = self._weather.lease_seconds if lease else None
        seconds = self._weather.seconds if late is None else late
        seconds_max = SECONDS_MAX.get(verb, LIMITS.write_seconds_max)
        if not seconds:
            return await ask()
        if seconds <= seconds_max:
            await self._clock.sleep(seconds)
            return await ask()
        await ask()
        await self._clock.sleep(seconds_max)
        raise UnavailableError(f"{verb}: no answer within {seconds_max:g} s")

    async def _watch(self, ask: Callable[[], Any]) -> AsyncIterator[Any]:
        if self._weather.seconds:
            await self._clock.sleep(min(self._weather.seconds, LIMITS.watch_open_seconds_max))
        async for event in ask():
            yield event


class SlowStack(Stack):
    """All services behind the same slow API server."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.weather = Weather()

    def _context(self, name: str, life: Life) -> Context:
        slow = SlowCluster(self.cluster, self.weather, self.clock, service=name)
        context = super()._context(name, life)
        object.__setattr__(context, "cluster", Mortal(slow, life, name="cluster"))
        return context

    def asked(self, verb: str, kind: str = "") -> int:
        """Over all services; of one kind if it is named."""
        ending = f" {verb} {kind}" if kind else f" {verb} "
        return sum(
            count for what, count in self.weather.asked.items()
            if (what.endswith(ending) if kind else ending in what)
        )  # fmt: skip
