"""Runs services in one process: start, restart after a failure, stop within a bounded time.

A service that raises is logged and started again with backoff; the other services of the process
are not affected. Stopping cancels all services and waits a bounded time for their cleanup.
"""

import asyncio
import dataclasses
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector

from vc.bus import BusForbiddenError
from vc.bus.prefixed import forbidden_on
from vc.clock import Clock, ServerClock
from vc.model.faults import describe
from vc.model.values.backoff import delay_seconds
from vc.runtime.containment.problems import ProblemRows
from vc.runtime.hosting.context import Context, Service
from vc.runtime.hosting.listening import PortTakenError
from vc.runtime.hosting.time_keeper import TimeKeeper
from vc.runtime.metrics.metered_cluster import MeteredCluster

STOP_SECONDS_MAX: Final = 10.0
"""The time that services have for cleanup; tasks that still run after it are abandoned."""

HEALTHY_SECONDS: Final = 30.0
"""After a run of this length the restart backoff of a
service begins again at the shortest delay.
"""

LOOP_LAG_PERIOD_SECONDS: Final = 0.5
LOOP_LAG_SAMPLES: Final = 120
"""One minute of samples. This is longer than the interval between scrapes, so a scrape never misses
the worst lag since the previous one.
"""

Build = Callable[[Context], Service]


class Host:
    """Hosts several services, each with its own context."""

    def __init__(self, builds: Mapping[str, tuple[Context, Build]]) -> None:
        self._builds = builds
        self._services: dict[str, Service] = {}
        self._registries: dict[str, CollectorRegistry] = {}
        self._problems: dict[str, ProblemRows] = {}
        self._registry = CollectorRegistry()
        """Metrics of the process itself: memory, CPU, open files, event loop lag."""
        # Memory, CPU and open files belong to the process, so they are registered once.
        ProcessCollector(registry=self._registry)
        self._loop_lag = Gauge(
            "pyroclast_event_loop_lag_seconds",
            "How late a timer fired, the latest of the last minute.",
            registry=self._registry,
        )
        self._loop_lags: deque[float] = deque([0.0], maxlen=LOOP_LAG_SAMPLES)
        self._loop_lag.set_function(lambda: max(self._loop_lags))
        self._clock_ahead = Gauge(
            "pyroclast_clock_ahead_seconds",
            "By how much the machine's clock is ahead of the API server's, which deadlines use.",
            registry=self._registry,
        )
        self._restarts = Counter(
            "pyroclast_service_restarts",
            "How often a service of this process raised and was started again.",
            ("service",),
            registry=self._registry,
        )
        self._ready = Gauge(
            "pyroclast_service_ready",
            "1 while a service can do its work.",
            ("service",),
            registry=self._registry,
        )
        self.faults = 0
        """Number of exceptions that services raised, over all services."""

    def services(self) -> Mapping[str, Service]:
        """The currently running instance of each service, by name."""
        return self._services

    def problems(self) -> dict[str, list[str]]:
        """Objects and records that were left out, by service."""
        return {name: lines for name, rows in self._problems.items() if (lines := rows.lines())}

    def registries(self) -> list[CollectorRegistry]:
        """The metrics registries of the process and of the running services;
        a restarted service has a new one.
        """
        return [self._registry, *self._registries.values()]

    async def run(self) -> None:
        """Run all services until cancelled."""
        tasks = [
            asyncio.create_task(self._keep(name, context, build), name=name)
            for name, (context, build) in self._builds.items()
        ]
        lag = _measure_loop_lag(self._any_context().clock, self._loop_lags)
        tasks += [asyncio.create_task(lag, name="loop-lag")]
        if keeper := self._time_keeper():
            tasks += [asyncio.create_task(keeper.run(), name="time-keeper")]
        try:
            # The tasks never return; this ends by cancellation or a fault of the host.
            await asyncio.gather(*tasks)
        finally:
            # All are cancelled before any is awaited, so that they clean up concurrently
            # within the bound.
            for task in tasks:
                task.cancel()
            _, left = await asyncio.wait(tasks, timeout=STOP_SECONDS_MAX)
            for task in left:
                self._any_context().log.error("task not stopped in time task=%s", task.get_name())

    def denied(self) -> str:
        """Describes what the ACLs of the bus forbid us to publish;
        empty if nothing is forbidden.
        """
        return forbidden_on(self._any_context().bus)

    def _time_keeper(self) -> TimeKeeper | None:
        """A task that keeps the shared clock in step with the API server;
        None if the clock is not a `ServerClock`.
        """
        context = self._any_context()
        if not isinstance(context.clock, ServerClock):
            return None
        clock = context.clock
        self._clock_ahead.set_function(lambda: clock.ahead_seconds)
        return TimeKeeper(clock, context.cluster, context.log)

    def _any_context(self) -> Context:
        # The bus, the clock and the cluster are shared by all contexts, so any context will do.
        return next(iter(self._builds.values()))[0]

    def _is_ready(self, service: Service) -> float:
        return 0.0 if service.unready() or self.denied() else 1.0

    async def _keep(self, name: str, context: Context, build: Build) -> None:
        failures = 0
        while True:
            started = context.clock.monotonic()
            # Each start needs a new registry: Prometheus refuses to register the same metric twice.
            fresh = metered(context)
            self._registries[name] = fresh.metrics
            self._problems[name] = fresh.problems
            # A service is built again for each run, so that no state of the failed one survives.
            service = self._services[name] = build(fresh)
            self._ready.labels(name).set_function(partial(self._is_ready, service))
            try:
                await service.run()
            # Cancellation is not an `Exception`: it passes, and ends the service for good.
            except Exception as error:
                self.faults += 1
                self._restarts.labels(name).inc()
                # For faults of the environment a traceback would hide the remedy.
                if isinstance(error, PortTakenError):
                    context.log.error(
                        "cannot listen, retrying service=%s error=%s", name, error.sentence
                    )
                elif isinstance(error, BusForbiddenError):
                    context.log.error(
                        "service not available, retrying service=%s error=%s", name, describe(error)
                    )
                else:
                    context.log.exception("service failed and is started again service=%s", name)
            # A fault after a long healthy run is a new fault, and must not inherit an old backoff.
            if context.clock.monotonic() - started > HEALTHY_SECONDS:
                failures = 0
            failures += 1
            await context.clock.sleep(delay_seconds(failures, context.rng))


def metered(context: Context) -> Context:
    """A copy of the context with a new metrics registry,
    so that a restarted service registers its metrics again.
    """
    registry = CollectorRegistry()
    cluster = MeteredCluster(
        context.cluster, service=context.name, clock=context.clock, registry=registry
    )
    return dataclasses.replace(context, metrics=registry, cluster=cluster)


async def _measure_loop_lag(clock: Clock, lags: deque[float]) -> None:
    """Samples how late a timer fires, which is how long the event loop was blocked."""
    while True:
        wanted = clock.monotonic() + LOOP_LAG_PERIOD_SECONDS
        await clock.sleep(LOOP_LAG_PERIOD_SECONDS)
        lags.append(max(0.0, clock.monotonic() - wanted))
