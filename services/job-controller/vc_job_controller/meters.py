"""Meters with Volcano's names (behaviour.md 7.2).

Upstream keeps a sample per job for ever. Here a job's samples go when the job does, and the oldest go
when there are too many, so that a page of metrics does not grow with the history of the cluster.
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

JOBS_MAX: Final = 10_000
"""Jobs with samples of their own."""

_MILLISECONDS: Final = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000)
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
            self.forget(next(iter(self._labels)))
        labels = (job.key, job.spec.queue or DEFAULT_QUEUE)
        self._labels[job.key] = (phase, *labels)
        self._ended[phase].labels(*labels).inc()

    def forget(self, key: str) -> None:
        """The job is gone."""
        known = self._labels.pop(key, None)
        if known is not None:
            phase, *labels = known
            self._ended[phase].remove(*labels)
