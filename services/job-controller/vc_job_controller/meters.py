"""Meters with Volcano's names (behaviour.md 7.2).

Upstream keeps a sample per job for ever. Here a job's samples go when the job does, and the oldest are
told together when there are too many, so that a page of metrics does not grow with the history of the cluster.
They are gauges that only count up: a counter's name would get `_total` at its end.
"""

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram

from vc_job_controller.logic import Observed
from vc_job_controller.logic.phases import COMPLETED, FAILED
from vc_job_controller.spans import born, phase_in
from vc_messages.effects import CreateObject, PatchObject
from vc_model.job import Job
from vc_model.keys import DEFAULT_QUEUE
from vc_model.kinds import JOBS, PODS
from vc_runtime.effects import Outcome, OutcomeStatus
from vc_runtime.shown_gauges import OTHER

JOBS_MAX: Final = 10_000
"""Jobs with samples of their own; those of older jobs are told together, as `other`."""
PLUGINS_MAX: Final = 50
"""Plugins with samples of their own: guests may come."""

_MILLISECONDS: Final = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000)
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30)
_LABELS: Final = ("job_name", "queue_name")


class Meters:
    """What the job-controller tells Prometheus."""

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
            "From the first question about a job's spec to the plugin's answer.",
            ("plugin",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._plugins: set[str] = set()
        self._labels: dict[str, tuple[str, str, str]] = {}
        """Jobs with samples: their phase, name and queue; oldest first."""

    def worked(self, seen: Observed, outcomes: Sequence[Outcome], *, now: float) -> None:
        """A decision was carried out."""
        done = [outcome.effect for outcome in outcomes if outcome.status is OutcomeStatus.DONE]
        for effect in done:
            if isinstance(effect, PatchObject) and effect.kind is JOBS:
                self._reached(seen.job, phase_in(effect))
        made_pods = any(isinstance(e, CreateObject) and e.kind is PODS for e in done)
        if made_pods and not seen.pods and seen.job.status.retry_count == 0:
            self._creation.observe(max(0.0, now - born(seen.job, now)) * 1000)

    def _reached(self, job: Job, phase: str) -> None:
        if phase not in self._ended:
            return
        self.forget(job.key)
        if len(self._labels) >= JOBS_MAX:
            oldest = next(iter(self._labels))
            self._ended[self._labels[oldest][0]].labels(OTHER, OTHER).inc()
            self.forget(oldest)
        labels = (job.key, job.spec.queue or DEFAULT_QUEUE)
        self._labels[job.key] = (phase, *labels)
        self._ended[phase].labels(*labels).inc()

    def answered(self, plugin: str, seconds: float) -> None:
        """A plugin answered what it was asked."""
        if plugin not in self._plugins and len(self._plugins) >= PLUGINS_MAX:
            plugin = OTHER
        self._plugins.add(plugin)
        self._round_trip.labels(plugin).observe(max(0.0, seconds))

    def forget(self, key: str) -> None:
        """The job is gone."""
        known = self._labels.pop(key, None)
        if known is not None:
            phase, *labels = known
            self._ended[phase].remove(*labels)
