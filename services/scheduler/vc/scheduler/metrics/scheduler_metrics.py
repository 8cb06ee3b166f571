"""Metrics, with Volcano's names where it has them (docs/behaviour.md 7.1).

docs/metrics.md lists all of them. Sessions and binds are counted as they happen, grouped by what
they measure. Series of jobs and queues are exported as a whole (`ShownGauge`): they disappear with
their object, and beyond a bound they are aggregated.
"""

from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import Counter, Gauge

from vc.runtime.hosting.context import Context
from vc.scheduler.metrics.durations import DurationMetrics
from vc.scheduler.metrics.sessions import EvictionMetrics, PendingMetrics, SizeMetrics
from vc.scheduling.model.decisions import Decisions

BIND_DONE: Final = "done"
NO_PARTS: Final[Mapping[tuple[str, str], float]] = {}


class SchedulerMetrics:
    """Metrics of sessions and binds."""

    def __init__(self, context: Context, *, exists: Callable[[str], bool]) -> None:
        """Register the metrics; counts of a job end when `exists` returns False for it."""
        registry = context.metrics
        self._times = DurationMetrics(registry)
        waiting = PendingMetrics(registry, exists=exists)
        self._of_sessions = (SizeMetrics(registry), waiting, EvictionMetrics(registry))
        self._binds = Counter(
            "pyroclast_binds",
            "Binds by what became of them: done, stale, refused, unavailable, skipped.",
            ["status"],
            registry=registry,
        )
        self._conf_refused = Gauge(
            "pyroclast_scheduler_conf_refused",
            "1 while the newest configuration cannot be used and the one before is in force.",
            registry=registry,
        )
        self._work = Gauge(
            "volcano_goroutines",
            "Work that waits for a writer or for the API server, by operation.",
            ["operation"],
            registry=registry,
        )

    def opened(self, seconds: float) -> None:
        """Record that a snapshot was made."""
        self._times.opened(seconds)

    def session(
        self,
        decisions: Decisions,
        *,
        took_seconds: float,
        parts: Mapping[tuple[str, str], float] = NO_PARTS,
    ) -> None:
        """Record a finished session."""
        self._times.session(took_seconds, parts)
        for metrics in self._of_sessions:
            metrics.session(decisions)

    def assumed(self, pods: int, *, after_seconds: float) -> None:
        """Record that pods of a gang are assumed."""
        self._times.assumed(pods, after_seconds=after_seconds)

    def bound(self, pods: int, *, after_seconds: float, took_seconds: float) -> None:
        """Record that all binds of a gang were acknowledged."""
        self._times.bound(pods, after_seconds=after_seconds, took_seconds=took_seconds)
        self._binds.labels(BIND_DONE).inc(pods)

    def bind_failed(self, status: str) -> None:
        """Record a failed bind."""
        self._binds.labels(status).inc()

    def watch_work(self, operation: str, count: Callable[[], int]) -> None:
        """Export the result of `count` at each scrape."""
        self._work.labels(operation).set_function(count)

    def conf_refused(self, why: str) -> None:
        """Record why the newest configuration is not used; empty when it is in force."""
        self._conf_refused.set(bool(why))
