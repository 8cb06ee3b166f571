"""Meters with Volcano's names where Volcano has them (behaviour.md 7.1); docs/metrics.md lists them.

Sessions and binds are counted as they happen, in groups named after what they measure. What belongs to
a job or a queue is shown as a whole (`ShownGauge`): its series go when it goes, and beyond a bound they
are told together.
"""

from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import Counter, Gauge

from vc_runtime.context import Context
from vc_scheduler.logic.decisions import Decisions
from vc_scheduler.session_meters import LeavingMeters, SizeMeters, WaitingMeters
from vc_scheduler.time_meters import TimeMeters

BIND_DONE: Final = "done"
NO_PARTS: Final[Mapping[tuple[str, str], float]] = {}


class Meters:
    """What the scheduler tells Prometheus about its sessions and binds."""

    def __init__(self, context: Context, *, lives: Callable[[str], bool]) -> None:
        """`lives` says whether a job is still there: its counts go with it."""
        registry = context.metrics
        self._times = TimeMeters(registry)
        waiting = WaitingMeters(registry, lives=lives)
        self._of_sessions = (SizeMeters(registry), waiting, LeavingMeters(registry))
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
        """A snapshot was made."""
        self._times.opened(seconds)

    def session(
        self,
        decisions: Decisions,
        *,
        took_seconds: float,
        parts: Mapping[tuple[str, str], float] = NO_PARTS,
    ) -> None:
        """A session ended."""
        self._times.session(took_seconds, parts)
        for meters in self._of_sessions:
            meters.session(decisions)

    def assumed(self, pods: int, *, after_seconds: float) -> None:
        """Pods of a gang lie over the columns."""
        self._times.assumed(pods, after_seconds=after_seconds)

    def bound(self, pods: int, *, after_seconds: float, took_seconds: float) -> None:
        """A whole gang's binds were acknowledged."""
        self._times.bound(pods, after_seconds=after_seconds, took_seconds=took_seconds)
        self._binds.labels(BIND_DONE).inc(pods)

    def bind_failed(self, status: str) -> None:
        """A bind did not succeed."""
        self._binds.labels(status).inc()

    def watch_work(self, operation: str, count: Callable[[], int]) -> None:
        """Let a scrape ask how much is under way."""
        self._work.labels(operation).set_function(count)

    def conf_refused(self, why: str) -> None:
        """Why a changed configuration is left unused; empty when it is not."""
        self._conf_refused.set(bool(why))
