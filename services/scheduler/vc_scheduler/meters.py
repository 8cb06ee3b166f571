"""Meters with Volcano's names where Volcano has them (behaviour.md 7.1)."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from vc_runtime.context import Context
from vc_scheduler.logic.decisions import Decisions

_MILLISECONDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class Meters:
    """What the scheduler tells Prometheus."""

    def __init__(self, context: Context) -> None:
        registry = context.metrics
        self._session = Histogram(
            "volcano_e2e_scheduling_latency_milliseconds",
            "One session, from its snapshot to its decisions.",
            buckets=_MILLISECONDS,
            registry=registry,
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
        self._bind_failures = Counter(
            "pyroclast_bind_failures", "Binds that did not succeed.", ["status"], registry=registry
        )
        self._releases = Counter(
            "pyroclast_gang_releases", "Gangs that gave their nodes back.", registry=registry
        )
        self._conf_refused = Gauge(
            "pyroclast_scheduler_conf_refused",
            "1 while the newest configuration cannot be used and the one before is in force.",
            registry=registry,
        )

    def conf_refused(self, why: str) -> None:
        """Why a changed configuration is left unused; empty when it is not."""
        self._conf_refused.set(bool(why))

    def session(self, decisions: Decisions, *, took_seconds: float) -> None:
        """A session ended."""
        self._session.observe(took_seconds * 1000)
        self._attempts.labels("scheduled").inc(decisions.bound_pods)
        waiting_pods = sum(job.reason.needed_pods for job in decisions.reasons)
        self._attempts.labels("unschedulable").inc(waiting_pods)
        self._waiting_jobs.set(len(decisions.reasons))
        self._releases.inc(len(decisions.releases))

    def bind_failed(self, status: str) -> None:
        """A bind did not succeed."""
        self._bind_failures.labels(status).inc()
