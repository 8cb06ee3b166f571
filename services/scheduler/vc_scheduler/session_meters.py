"""What sessions come to: how large they are, who waits and why, who was evicted, what was left out."""

from collections import Counter as Tallied
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily

from vc_runtime.shown_counters import ShownCounter
from vc_runtime.shown_gauges import ShownGauge
from vc_scheduler.logic.decisions import Decisions

SIZES: Final = (0, 1, 10, 100, 1_000, 10_000, 100_000)
RETRIES_MIN: Final = 1_000
"""Jobs whose retries are kept before those that are gone are looked for."""


class SizeMeters:
    """What a session looked at, and how it went."""

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


class WaitingMeters:
    """Who was placed and who waits, for which reason, how often already."""

    def __init__(self, registry: CollectorRegistry, *, lives: Callable[[str], bool]) -> None:
        """`lives` says whether a job is still there."""
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
        self._retries = JobRetries(registry, lives=lives)
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
    """How often sessions left a job waiting, as long as there is the job: a counter does not go back.

    Which jobs are gone is looked at when somebody scrapes, and when there are twice as many as were left
    after the last look; sessions only count.
    """

    def __init__(self, registry: CollectorRegistry, *, lives: Callable[[str], bool]) -> None:
        self._lives = lives
        self._counts: dict[tuple[str], float] = {}
        self._kept_max = RETRIES_MIN
        super().__init__(
            "volcano_job_retry_counts",
            "Sessions that left a job waiting, until the job is gone.",
            ("job_id",),
            registry=registry,
        )

    def count(self, groups: Iterable[str]) -> None:
        """One more for each of these."""
        for group in groups:
            self._counts[group,] = self._counts.get((group,), 0.0) + 1
        if len(self._counts) > self._kept_max:
            self._forget()

    def collect(self) -> list[GaugeMetricFamily]:
        """At every scrape."""
        self._forget()
        self.show(self._counts)
        return super().collect()

    def _forget(self) -> None:
        self._counts = {key: count for key, count in self._counts.items() if self._lives(key[0])}
        self._kept_max = max(RETRIES_MIN, 2 * len(self._counts))


class LeavingMeters:
    """Who had to leave: victims of others, and gangs that gave their nodes back."""

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
        self._preemptions.show({(): 0.0})
        self._evictions = Counter(
            "pyroclast_evictions", "Pods that sessions wanted evicted.", registry=registry
        )
        self._releases = Counter(
            "pyroclast_gang_releases", "Gangs that gave their nodes back.", registry=registry
        )

    def session(self, decisions: Decisions) -> None:
        self._releases.inc(len(decisions.releases))
        if decisions.evictions:
            victims = sum(len(eviction.pods) for eviction in decisions.evictions)
            self._victims.set(victims)
            self._evictions.inc(victims)
            self._preempted_for += len(decisions.evictions)
            self._preemptions.show({(): float(self._preempted_for)})
