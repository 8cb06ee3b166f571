"""Results of sessions: size, waiting jobs and their reasons, evictions, and faults."""

from collections import Counter as Tallied
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily

from vc.runtime.metrics.shown_counters import ShownCounter
from vc.runtime.metrics.shown_gauges import ShownGauge
from vc.scheduling.model.decisions import Decisions

SIZES: Final = (0, 1, 10, 100, 1_000, 10_000, 100_000)
RETRIES_MIN: Final = 1_000
"""Number of jobs whose retries are kept before deleted jobs are removed."""


class SizeMetrics:
    """Size of sessions, and plugins or actions that raised."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._groups = Histogram(
            "pyroclast_session_groups",
            "Pod groups that a session had to look at.",
            buckets=SIZES,
            registry=registry,
        )
        self._nodes = Gauge(
            "pyroclast_session_nodes", "Nodes the last session knew.", registry=registry
        )
        self._faults = Counter(
            "pyroclast_session_faults",
            "Sessions that were held without a plugin or an action, because it raised.",
            ["part"],
            registry=registry,
        )

    def session(self, decisions: Decisions) -> None:
        self._groups.observe(decisions.groups)
        self._nodes.set(decisions.nodes)
        for fault in decisions.left_out:
            self._faults.labels("podgroup" if fault.group else fault.plugin or fault.action).inc()


class PendingMetrics:
    """Placed pods, waiting jobs, their reasons and retries."""

    def __init__(self, registry: CollectorRegistry, *, exists: Callable[[str], bool]) -> None:
        """Register the metrics; `exists` returns whether a job still exists."""
        self._attempts = Counter(
            "volcano_schedule_attempts",
            "Pods by what a session made of them.",
            ["result"],
            registry=registry,
        )
        self._jobs = Gauge(
            "volcano_unschedule_job_count", "Jobs that wait, each for a reason.", registry=registry
        )
        self._tasks = ShownGauge(
            "volcano_unschedule_task_count",
            "Pods that a waiting job needs placed.",
            ("job_id",),
            registry=registry,
        )
        self._retries = JobRetries(registry, exists=exists)
        self._reasons = ShownGauge(
            "pyroclast_waiting_jobs",
            "Jobs that wait, by stage and code of their reason.",
            ("stage", "code"),
            registry=registry,
        )

    def session(self, decisions: Decisions) -> None:
        waiting = {(job.group,): float(job.reason.needed_pods) for job in decisions.reasons}
        self._attempts.labels("scheduled").inc(decisions.bound_pods)
        self._attempts.labels("unschedulable").inc(sum(waiting.values()))
        self._jobs.set(len(waiting))
        self._tasks.show(waiting)
        self._retries.count(job.group for job in decisions.reasons)
        codes = Tallied((job.reason.stage.value, job.reason.code) for job in decisions.reasons)
        self._reasons.show({labels: float(count) for labels, count in codes.items()})


class JobRetries(ShownCounter):
    """Number of sessions that left a job waiting, kept as long as the job exists.

    A counter must not decrease, so a job keeps its count while it runs. Deleted jobs are removed at
    a scrape, and when the number of entries has doubled since the last removal; sessions only
    count.
    """

    def __init__(self, registry: CollectorRegistry, *, exists: Callable[[str], bool]) -> None:
        self._exists = exists
        self._counts: dict[tuple[str], float] = {}
        self._kept_max = RETRIES_MIN
        super().__init__(
            "volcano_job_retry_counts",
            "Sessions that left a job waiting, until the job is gone.",
            ("job_id",),
            registry=registry,
        )

    def count(self, groups: Iterable[str]) -> None:
        """Add one for each of these groups."""
        for group in groups:
            self._counts[group,] = self._counts.get((group,), 0.0) + 1
        # Without scrapes the dictionary would otherwise grow with every job that ever waited.
        if len(self._counts) > self._kept_max:
            self._forget()

    def collect(self) -> list[GaugeMetricFamily]:
        """Return the families; called at every scrape."""
        self._forget()
        self.show(self._counts)
        return super().collect()

    def _forget(self) -> None:
        """Remove the counts of deleted jobs, so that memory is bounded by the jobs that exist."""
        self._counts = {key: count for key, count in self._counts.items() if self._exists(key[0])}
        self._kept_max = max(RETRIES_MIN, 2 * len(self._counts))


class EvictionMetrics:
    """Evicted pods: victims of other jobs, and released half-bound gangs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._victims = Gauge(
            "volcano_pod_preemption_victims",
            "Pods evicted by the last session that evicted any.",
            registry=registry,
        )
        self._preempted_for = 0
        self._preemptions = ShownCounter(
            "volcano_total_preemption_attempts",
            "Jobs for which pods were evicted.",
            (),
            registry=registry,
        )
        # The series exists from the start, so that a rate over it is defined before the first
        # preemption.
        self._preemptions.show({(): 0.0})
        self._evictions = Counter(
            "pyroclast_evictions", "Pods that sessions wanted evicted.", registry=registry
        )
        self._releases = Counter(
            "pyroclast_gang_releases",
            "Half-bound gangs whose bound members were evicted.",
            registry=registry,
        )

    def session(self, decisions: Decisions) -> None:
        self._releases.inc(len(decisions.releases))
        if decisions.evictions:
            victims = sum(len(eviction.pods) for eviction in decisions.evictions)
            self._victims.set(victims)
            self._evictions.inc(victims)
            self._preempted_for += len(decisions.evictions)
            self._preemptions.show({(): float(self._preempted_for)})
