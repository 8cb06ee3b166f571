"""Meters with Volcano's names where Volcano has them (behaviour.md 7.1); docs/metrics.md lists them.

Sessions and binds are counted as they happen. What belongs to a job or a queue is shown as a whole
(`ShownGauge`): its series go when it goes, and beyond a bound they are told together.
"""

from collections import Counter as Tallied
from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from vc_runtime.context import Context
from vc_runtime.shown_gauges import CountedSeries, ShownGauge
from vc_runtime.tallies import Tally
from vc_scheduler.logic.decisions import Decisions
from vc_scheduler.logic.stopwatch import ACTION, PREDICATE, SCORING

MILLISECONDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
SIZES: Final = (0, 1, 10, 100, 1_000, 10_000, 100_000)
BIND_DONE: Final = "done"
NO_PARTS: Final[Mapping[tuple[str, str], float]] = {}


class Meters:
    """What the scheduler tells Prometheus about its sessions and binds."""

    def __init__(self, context: Context) -> None:
        registry = context.metrics

        def histogram(name: str, what: str, *labels: str) -> Histogram:
            return Histogram(name, what, labels, buckets=MILLISECONDS, registry=registry)

        self._session = histogram(
            "volcano_e2e_scheduling_latency_milliseconds",
            "One session, from its snapshot to its decisions.",
        )
        self._open = histogram(
            "volcano_open_session_duration_milliseconds",
            "What happens before a session decides: counting what changed, and the snapshot.",
        )
        self._action = histogram(
            "volcano_action_scheduling_latency_milliseconds", "One action of one session.", "action"
        )
        self._plugin = histogram(
            "volcano_plugin_scheduling_latency_milliseconds",
            "One plugin at one extension point (predicate, scoring), over one session.",
            "plugin",
            "OnSession",
        )
        self._stage = histogram(
            "volcano_scheduling_stage_duration_milliseconds",
            "All predicates or all scoring of one session, or the binds of one gang.",
            "stage",
        )
        self._attempts = Counter(
            "volcano_schedule_attempts",
            "Pods by what a session made of them.",
            ["result"],
            registry=registry,
        )
        self._waiting_jobs = Gauge(
            "volcano_unschedule_job_count", "Jobs that wait, each for a reason.", registry=registry
        )
        self._waiting_tasks = ShownGauge(
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
        self._task = Tally(
            "volcano_task_scheduling_latency_milliseconds",
            "Per pod: from the opening of its session until it is assumed, or its bind acknowledged.",
            ("stage",),
            buckets=MILLISECONDS,
            registry=registry,
        )
        self._reasons = ShownGauge(
            "pyroclast_waiting_jobs",
            "Jobs that wait, by stage and code of their reason.",
            ("stage", "code"),
            registry=registry,
        )
        self._size = Histogram(
            "pyroclast_session_groups",
            "Pod groups that a session had to look at.",
            buckets=SIZES,
            registry=registry,
        )
        self._nodes = Gauge(
            "pyroclast_session_nodes", "Nodes the last session knew.", registry=registry
        )
        self._evictions = Counter(
            "pyroclast_evictions", "Pods that sessions wanted evicted.", registry=registry
        )
        self._binds = Counter(
            "pyroclast_binds",
            "Binds by what became of them: done, stale, refused, unavailable, skipped.",
            ["status"],
            registry=registry,
        )
        self._releases = Counter(
            "pyroclast_gang_releases", "Gangs that gave their nodes back.", registry=registry
        )
        self._faults = Counter(
            "pyroclast_session_faults",
            "Sessions that were held without a plugin or an action, because it raised.",
            ["part"],
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
        self._open.observe(seconds * 1000)

    def session(
        self,
        decisions: Decisions,
        *,
        took_seconds: float,
        parts: Mapping[tuple[str, str], float] = NO_PARTS,
    ) -> None:
        """A session ended."""
        self._session.observe(took_seconds * 1000)
        self._observe_parts(parts)
        self._size.observe(decisions.groups)
        self._nodes.set(decisions.nodes)
        self._attempts.labels("scheduled").inc(decisions.bound_pods)
        waiting = {(job.group,): float(job.reason.needed_pods) for job in decisions.reasons}
        self._attempts.labels("unschedulable").inc(sum(waiting.values()))
        self._waiting_jobs.set(len(waiting))
        self._waiting_tasks.show(waiting)
        self._retry_counts.show(self._retries.count_only(waiting))
        codes = Tallied((job.reason.stage.value, job.reason.code) for job in decisions.reasons)
        self._reasons.show({labels: float(count) for labels, count in codes.items()})
        self._releases.inc(len(decisions.releases))
        for fault in decisions.left_out:
            self._faults.labels(fault.plugin or fault.action).inc()
        if decisions.evictions:
            victims = sum(len(eviction.pods) for eviction in decisions.evictions)
            self._victims.set(victims)
            self._evictions.inc(victims)
            self._preemptions.inc(len(decisions.evictions))

    def _observe_parts(self, parts: Mapping[tuple[str, str], float]) -> None:
        stages: dict[str, float] = {}
        for (what, name), seconds in parts.items():
            if what == ACTION:
                self._action.labels(name).observe(seconds * 1000)
            else:
                self._plugin.labels(name, what).observe(seconds * 1000)
                stages[what] = stages.get(what, 0.0) + seconds
        for stage in (PREDICATE, SCORING):
            if stage in stages:
                self._stage.labels(stage).observe(stages[stage] * 1000)

    def assumed(self, pods: int, *, after_seconds: float) -> None:
        """Pods of a gang lie over the columns."""
        self._task.observe(after_seconds * 1000, "assumed", times=pods)

    def bound(self, pods: int, *, after_seconds: float, took_seconds: float) -> None:
        """A whole gang's binds were acknowledged."""
        self._task.observe(after_seconds * 1000, "bound", times=pods)
        self._stage.labels("bind").observe(took_seconds * 1000)
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
