"""What sessions come to: how large they are, who waits and why, who was evicted, what was left out."""

from collections import Counter as Tallied
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from vc_runtime.shown_gauges import CountedSeries, ShownGauge
from vc_scheduler.logic.decisions import Decisions

SIZES: Final = (0, 1, 10, 100, 1_000, 10_000, 100_000)


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
            self._faults.labels(fault.plugin or fault.action).inc()


class WaitingMeters:
    """Who was placed and who waits, for which reason, how often already."""

    def __init__(self, registry: CollectorRegistry) -> None:
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
        self._retries = CountedSeries()
        self._retry_counts = ShownGauge(
            "volcano_job_retry_counts",
            "Sessions that left a job waiting, until it no longer waits.",
            ("job_id",),
            registry=registry,
        )
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
        self._retry_counts.show(self._retries.count_only(waiting))
        codes = Tallied((job.reason.stage.value, job.reason.code) for job in decisions.reasons)
        self._reasons.show({labels: float(count) for labels, count in codes.items()})


class LeavingMeters:
    """Who had to leave: victims of others, and gangs that gave their nodes back."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._victims = Gauge(
            "volcano_pod_preemption_victims",
            "Pods evicted by the last session that evicted any.",
            registry=registry,
        )
        self._preemptions = Gauge(
            "volcano_total_preemption_attempts",
            "Jobs for which pods were evicted; only counts up.",
            registry=registry,
        )
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
            self._preemptions.inc(len(decisions.evictions))
