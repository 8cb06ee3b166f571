"""Metrics of queues, jobs and namespaces: shares and amounts (docs/behaviour.md 7.1).

They come from `vc/scheduling/closing/share_report.py` every few seconds, because they iterate over
every pod group. Series disappear with their queue, job or namespace.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Histogram

from vc.runtime.metrics.shown_gauges import ShownGauge
from vc.scheduling.closing.share_report import Figures, QueueFigures
from vc.scheduling.model.amounts import PODS, Amounts

FIGURES_SECONDS: Final = 5.0
"""Interval between two updates."""

JOBS_KEPT_MAX: Final = 10_000
"""Maximum number of jobs whose times are kept; the oldest are dropped first."""

_AMOUNTS: Final = ("allocated", "request", "deserved", "capacity", "real_capacity")
_CPU: Final = "cpu"
_MEMORY: Final = "memory"
_JOB_MILLISECONDS: Final = (50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000, 600_000, 3_600_000)
_JOB_LABELS: Final = ("job_name", "queue", "job_namespace")


class ShareMetrics:
    """Gauges of queues, jobs and namespaces."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, what: str, *labels: str) -> ShownGauge:
            return ShownGauge(f"volcano_{name}", what, labels, registry=registry)

        self._amounts = {
            (which, unit): gauge(
                f"queue_{which}_{unit}",
                f"{_MEANING[which]} ({_UNITS[unit]}).",
                *(("queue_name", "resource") if unit == "scalar_resources" else ("queue_name",)),
            )
            for which in _AMOUNTS
            for unit in _UNITS
        }
        self._share = gauge(
            "queue_share", "The largest part of what a queue deserves that it has.", "queue_name"
        )
        self._weight = gauge("queue_weight", "A queue's weight.", "queue_name")
        self._overused = gauge(
            "queue_overused", "1 when a queue has more of something than it deserves.", "queue_name"
        )
        self._unowned = ShownGauge(
            "pyroclast_pods_without_queue",
            "Pods on nodes whose queue does not exist, by the queue they name.",
            ("queue_name",),
            registry=registry,
        )
        self._job_share = gauge(
            "job_share", "The largest part of the cluster that a job has.", "job_ns", "job_id"
        )
        self._namespaces = {
            name: gauge(f"namespace_{name}", what, "namespace_name")
            for name, what in (
                ("share", "The largest part of the cluster that a namespace has."),
                ("weight", "A namespace's weight; always 1."),
                ("weighted_share", "Share divided by weight."),
            )
        }
        self._latency = Histogram(
            "volcano_e2e_job_scheduling_latency_milliseconds",
            "From a job's creation, to the second, until its gang is bound.",
            buckets=_JOB_MILLISECONDS,
            registry=registry,
        )
        self._duration = ShownGauge(
            "volcano_e2e_job_scheduling_duration",
            "Milliseconds from a job's creation until pods of it were last bound.",
            _JOB_LABELS,
            registry=registry,
            together=max,
        )
        self._start = ShownGauge(
            "volcano_e2e_job_scheduling_start_time",
            "When the job was created; seconds since the epoch.",
            _JOB_LABELS,
            registry=registry,
            together=max,
        )
        self._last = ShownGauge(
            "volcano_e2e_job_scheduling_last_time",
            "When pods of the job were last bound; seconds since the epoch.",
            _JOB_LABELS,
            registry=registry,
            together=max,
        )
        self._times: dict[str, tuple[str, float, float]] = {}
        """By job: its queue, time of creation, time of the last bind; oldest first."""

    def bound(self, job: str, *, queue: str, created: float, now: float) -> None:
        """Record that a gang, or more pods of a job, were bound."""
        # The latency of a job is observed once, for its gang. Later binds only update the last
        # time.
        if job not in self._times:
            self._latency.observe(max(0.0, now - created) * 1000)
            if len(self._times) >= JOBS_KEPT_MAX:
                # Dictionaries keep insertion order, so the first entry is the oldest.
                del self._times[next(iter(self._times))]
        self._times[job] = (queue, created, now)

    def show(self, figures: Figures) -> None:
        """Export the current figures; series of deleted objects disappear."""
        for (which, unit), gauge in self._amounts.items():
            gauge.show(_amounts_of(figures.queues, which, unit))
        queues = figures.queues.items()
        self._share.show({(name,): queue.share for name, queue in queues})
        self._weight.show({(name,): float(queue.weight) for name, queue in queues})
        self._overused.show({(name,): float(queue.overused) for name, queue in queues})
        self._unowned.show(
            {(name,): amounts.get(PODS, 0) / 1000 for name, amounts in figures.unowned.items()}
        )
        self._job_share.show(
            {(key.partition("/")[0], key): share for key, share in figures.jobs.items()}
        )
        shares = {(name,): share for name, share in figures.namespaces.items()}
        self._namespaces["share"].show(shares)
        self._namespaces["weight"].show(dict.fromkeys(shares, 1.0))
        self._namespaces["weighted_share"].show(shares)
        # Times of deleted groups are dropped here, where the list of existing groups is at hand.
        self._times = {job: t for job, t in self._times.items() if job in figures.groups}
        self._show_times()

    def _show_times(self) -> None:
        labelled = {
            (job.partition("/")[2], queue, job.partition("/")[0]): (created, last)
            for job, (queue, created, last) in self._times.items()
        }
        self._start.show({labels: created for labels, (created, _) in labelled.items()})
        self._last.show({labels: last for labels, (_, last) in labelled.items()})
        self._duration.show(
            {labels: max(0.0, last - made) * 1000 for labels, (made, last) in labelled.items()}
        )


_MEANING: Final = {
    "allocated": "What a queue and those below it have",
    "request": "What a queue and those below it have and wait for",
    "deserved": "What a queue deserves",
    "capacity": "A queue's capability, as far as it names one",
    "real_capacity": "What a queue may have at most",
}
_UNITS: Final = {
    "milli_cpu": "CPU in thousandths",
    "memory_bytes": "memory in bytes",
    "scalar_resources": "other resources in thousandths",
}


def _amounts_of(
    queues: dict[str, QueueFigures], which: str, unit: str
) -> dict[tuple[str, ...], float]:
    shown: dict[tuple[str, ...], float] = {}
    for name, queue in queues.items():
        amounts: Amounts = getattr(queue, which)
        if unit == "milli_cpu":
            shown[name,] = float(amounts.get(_CPU, 0))
        elif unit == "memory_bytes":
            shown[name,] = float(amounts.get(_MEMORY, 0))
        else:
            shown |= {
                (name, resource): float(amount)
                for resource, amount in amounts.items()
                if resource not in (_CPU, _MEMORY, PODS)
            }
    return shown
