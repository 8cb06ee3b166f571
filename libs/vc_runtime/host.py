"""Runs services in one process: start, restart after a fault, stop in a bounded time.

A service that raises is logged in one line and started again with growing pauses; its neighbours do
not notice. Stopping cancels all, gives them a bounded time to clean up, and then leaves.
"""

import asyncio
import dataclasses
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector

from vc_bus import BusForbiddenError
from vc_bus.prefixed import forbidden_on
from vc_clock import Clock, ServerClock
from vc_model.faults import describe
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context, Service
from vc_runtime.listening import PortTakenError
from vc_runtime.metered_cluster import MeteredCluster
from vc_runtime.problems import Problems
from vc_runtime.time_keeper import TimeKeeper

STOP_SECONDS_MAX: Final = 10.0
"""How long services may take to clean up; what is still running then is abandoned."""

HEALTHY_SECONDS: Final = 30.0
"""A service that ran this long starts from the shortest pause again."""

LOOP_LAG_PERIOD_SECONDS: Final = 0.5
LOOP_LAG_SAMPLES: Final = 120
"""A minute: longer than scrapes are apart, so that none misses the worst moment between two."""

Build = Callable[[Context], Service]


class Host:
    """Hosts services, each with its own context."""

    def __init__(self, builds: Mapping[str, tuple[Context, Build]]) -> None:
        self._builds = builds
        self._services: dict[str, Service] = {}
        self._registries: dict[str, CollectorRegistry] = {}
        self._problems: dict[str, Problems] = {}
        self._meters = CollectorRegistry()
        """Of the process itself: memory, CPU, open files, its event loop."""
        ProcessCollector(registry=self._meters)
        self._loop_lag = Gauge(
            "pyroclast_event_loop_lag_seconds",
            "How late a timer fired, the latest of the last minute.",
            registry=self._meters,
        )
        self._loop_lags: deque[float] = deque([0.0], maxlen=LOOP_LAG_SAMPLES)
        self._loop_lag.set_function(lambda: max(self._loop_lags))
        self._clock_ahead = Gauge(
            "pyroclast_clock_ahead_seconds",
            "By how much the machine's clock is ahead of the API server's, which deadlines use.",
            registry=self._meters,
        )
        self._restarts = Counter(
            "pyroclast_service_restarts",
            "How often a service of this process raised and was started again.",
            ("service",),
            registry=self._meters,
        )
        self._ready = Gauge(
            "pyroclast_service_ready",
            "1 while a service can do its work.",
            ("service",),
            registry=self._meters,
        )
        self.faults = 0
        """How often a service raised; counted over all."""

    def services(self) -> Mapping[str, Service]:
        """The services as they run now."""
        return self._services

    def problems(self) -> dict[str, list[str]]:
        """Objects and records that were left out, by service."""
        return {name: lines for name, rows in self._problems.items() if (lines := rows.lines())}

    def registries(self) -> list[CollectorRegistry]:
        """The meters of the services as they run now; a restarted service has new ones."""
        return [self._meters, *self._registries.values()]

    async def run(self) -> None:
        """Until cancelled."""
        tasks = [
            asyncio.create_task(self._keep(name, context, build), name=name)
            for name, (context, build) in self._builds.items()
        ]
        lag = _measure_loop_lag(self._any_context().clock, self._loop_lags)
        tasks += [asyncio.create_task(lag, name="loop-lag")]
        if keeper := self._time_keeper():
            tasks += [asyncio.create_task(keeper.run(), name="time-keeper")]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            _, left = await asyncio.wait(tasks, timeout=STOP_SECONDS_MAX)
            for task in left:
                self._any_context().log.error("%s did not stop in time", task.get_name())

    def denied(self) -> str:
        """What ACLs of the bus forbid us to publish; empty when nothing."""
        return forbidden_on(self._any_context().bus)

    def _time_keeper(self) -> TimeKeeper | None:
        """For the clock that all services of a process share."""
        context = self._any_context()
        if not isinstance(context.clock, ServerClock):
            return None
        clock = context.clock
        self._clock_ahead.set_function(lambda: clock.ahead_seconds)
        return TimeKeeper(clock, context.cluster, context.log)

    def _any_context(self) -> Context:
        return next(iter(self._builds.values()))[0]

    def _is_ready(self, service: Service) -> float:
        return 0.0 if service.unready() or self.denied() else 1.0

    async def _keep(self, name: str, context: Context, build: Build) -> None:
        failures = 0
        while True:
            started = context.clock.monotonic()
            fresh = metered(context)
            self._registries[name] = fresh.metrics
            self._problems[name] = fresh.problems
            service = self._services[name] = build(fresh)
            self._ready.labels(name).set_function(partial(self._is_ready, service))
            try:
                await service.run()
            except Exception as error:
                self.faults += 1
                self._restarts.labels(name).inc()
                if isinstance(error, PortTakenError):
                    context.log.error("%s cannot listen and tries again: %s", name, error.sentence)
                elif isinstance(error, BusForbiddenError):
                    context.log.error("%s tries again: %s", name, describe(error))
                else:
                    context.log.exception("%s failed and is started again", name)
            if context.clock.monotonic() - started > HEALTHY_SECONDS:
                failures = 0
            failures += 1
            await context.clock.sleep(delay_seconds(failures, context.chance))


def metered(context: Context) -> Context:
    """With meters of its own: a service that is started again starts them again."""
    registry = CollectorRegistry()
    cluster = MeteredCluster(
        context.cluster, service=context.name, clock=context.clock, registry=registry
    )
    return dataclasses.replace(context, metrics=registry, cluster=cluster)


async def _measure_loop_lag(clock: Clock, lags: deque[float]) -> None:
    """How much later than wanted a timer fires: the event loop stood still for so long."""
    while True:
        wanted = clock.monotonic() + LOOP_LAG_PERIOD_SECONDS
        await clock.sleep(LOOP_LAG_PERIOD_SECONDS)
        lags.append(max(0.0, clock.monotonic() - wanted))
