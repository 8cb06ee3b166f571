"""Metrics with Volcano's names (docs/behaviour.md 7.2).

Upstream keeps a sample per job for ever. Here the samples of a job are removed with the
job, and the oldest are merged when there are too many, so the metrics page does not grow
with the history of the cluster. They are gauges that only count up: the name of a counter
would get the suffix `_total`.
"""

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram

from vc.job_controller.logic import ObservedJob
from vc.job_controller.logic.phases import COMPLETED, FAILED
from vc.job_controller.spans import created_at, phase_in
from vc.messages.effects import CreateObject, PatchObject
from vc.model.api.job import Job
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.kinds import JOBS, PODS
from vc.runtime.applying.effects import Outcome, OutcomeStatus
from vc.runtime.metrics.shown_gauges import OTHER

JOBS_MAX: Final = 10_000
"""Limit of jobs with their own samples. Samples of older jobs are merged as `other`."""
PLUGINS_MAX: Final = 50
"""Limit of plugins with their own samples, because third-party plugins may exist."""

_MILLISECONDS: Final = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000)
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30)
_LABELS: Final = ("job_name", "queue_name")


class JobMetrics:
    """The Prometheus metrics of the job-controller."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._ended = {
            COMPLETED: Gauge(
                "volcano_job_completed_phase_count",
                "Jobs that have completed, until they are deleted.",
                _LABELS,
                registry=registry,
            ),
            FAILED: Gauge(
                "volcano_job_failed_phase_count",
                "Jobs that have failed, until they are deleted.",
                _LABELS,
                registry=registry,
            ),
        }
        self._creation = Histogram(
            "volcano_controller_job_to_pod_creation_latency_milliseconds",
            "From a job's creation, to the second, to its first pods.",
            buckets=_MILLISECONDS,
            registry=registry,
        )
        self._round_trip = Histogram(
            "pyroclast_plugin_round_trip_seconds",
            "From the first request about a job's spec to the plugin's reply.",
            ("plugin",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._plugins: set[str] = set()
        self._labels: dict[str, tuple[str, str, str]] = {}
        """Phase, name and queue of the jobs with samples, oldest first."""

    def after_decision(self, seen: ObservedJob, outcomes: Sequence[Outcome], *, now: float) -> None:
        """Count the effects of a decision that was carried out."""
        done = [outcome.effect for outcome in outcomes if outcome.status is OutcomeStatus.DONE]
        for effect in done:
            if isinstance(effect, PatchObject) and effect.kind is JOBS:
                self._reached(seen.job, phase_in(effect))
        made_pods = any(isinstance(e, CreateObject) and e.kind is PODS for e in done)
        # Only the first attempt: later pods would add the running time of the job to the latency.
        if made_pods and not seen.pods and seen.job.status.retry_count == 0:
            self._creation.observe(max(0.0, now - created_at(seen.job, now)) * 1000)

    def _reached(self, job: Job, phase: str) -> None:
        if phase not in self._ended:
            return
        # A job has one sample, even if it reaches a final phase twice.
        self.forget(job.key)
        # The total of the series stays right when the oldest job loses its own sample.
        if len(self._labels) >= JOBS_MAX:
            oldest = next(iter(self._labels))
            self._ended[self._labels[oldest][0]].labels(OTHER, OTHER).inc()
            self.forget(oldest)
        labels = (job.key, job.spec.queue or DEFAULT_QUEUE)
        self._labels[job.key] = (phase, *labels)
        self._ended[phase].labels(*labels).inc()

    def replied(self, plugin: str, seconds: float) -> None:
        """Observe the round trip of a plugin request."""
        if plugin not in self._plugins and len(self._plugins) >= PLUGINS_MAX:
            plugin = OTHER
        self._plugins.add(plugin)
        self._round_trip.labels(plugin).observe(max(0.0, seconds))

    def forget(self, key: str) -> None:
        """Remove the samples of a deleted job."""
        known = self._labels.pop(key, None)
        if known is not None:
            phase, *labels = known
            self._ended[phase].remove(*labels)
