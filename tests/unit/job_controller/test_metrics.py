"""Volcano's metrics, and that their samples are bounded."""

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from tests.unit.job_controller.builders import NOW, UID, job, pod
from vc.job_controller import metrics
from vc.job_controller.logic import ObservedJob
from vc.job_controller.metrics import JobMetrics
from vc.messages.effects import CreateObject, Effect, PatchObject
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS, PODS
from vc.runtime.applying.effects import Outcome, OutcomeStatus

COMPLETED = "volcano_job_completed_phase_count"
FAILED = "volcano_job_failed_phase_count"
LATENCY = "volcano_controller_job_to_pod_creation_latency_milliseconds"


def named(name: str) -> Job:
    made = job("Running", queue="q")
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, name=name))


def patch(**state: str) -> PatchObject:
    status = {"status": {"state": state, "running": 1}}
    return PatchObject(kind=JOBS, namespace="ns", name="j", patch=status, uid=UID)


def outcome(effect: Effect, status: OutcomeStatus = OutcomeStatus.DONE) -> Outcome:
    return Outcome(effect=effect, status=status)


def value(registry: CollectorRegistry, metric: str, name: str = "j") -> float | None:
    return registry.get_sample_value(metric, {"job_name": f"ns/{name}", "queue_name": "q"})


def test_a_job_that_completes_or_fails_is_counted_until_it_is_deleted() -> None:
    registry = CollectorRegistry()
    subject = JobMetrics(registry)
    subject.after_decision(
        ObservedJob(job=named("a")), [outcome(patch(phase="Completed"))], now=NOW
    )
    subject.after_decision(ObservedJob(job=named("b")), [outcome(patch(phase="Failed"))], now=NOW)
    assert (value(registry, COMPLETED, "a"), value(registry, FAILED, "a")) == (1, None)
    assert (value(registry, COMPLETED, "b"), value(registry, FAILED, "b")) == (None, 1)
    for name in ("a", "b", "never seen"):
        subject.forget(f"ns/{name}")
    assert (value(registry, COMPLETED, "a"), value(registry, FAILED, "b")) == (None, None)


@pytest.mark.parametrize(
    "unmeant",
    [
        outcome(patch(phase="Completed"), OutcomeStatus.STALE),
        outcome(patch(phase="Running")),
        outcome(patch()),
    ],
    ids=["a write that was not taken", "another phase", "no phase at all"],
)
def test_only_an_end_that_was_written_counts(unmeant: Outcome) -> None:
    registry = CollectorRegistry()
    JobMetrics(registry).after_decision(ObservedJob(job=named("a")), [unmeant], now=NOW)
    assert value(registry, COMPLETED, "a") is None


def test_the_oldest_samples_go_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "JOBS_MAX", 2)
    registry = CollectorRegistry()
    subject = JobMetrics(registry)
    for name in ("a", "b", "c"):
        subject.after_decision(
            ObservedJob(job=named(name)), [outcome(patch(phase="Completed"))], now=NOW
        )
    assert [value(registry, COMPLETED, name) for name in "abc"] == [None, 1, 1]


def test_the_first_pods_of_a_job_are_timed_and_later_ones_are_not() -> None:
    registry = CollectorRegistry()
    subject = JobMetrics(registry)
    made = outcome(CreateObject(kind=PODS, namespace="ns", name="j-worker-0", body={}))
    subject.after_decision(ObservedJob(job=named("j")), [made], now=NOW)
    subject.after_decision(ObservedJob(job=named("j"), pods=(pod(0),)), [made], now=NOW + 5)
    subject.after_decision(ObservedJob(job=job("Pending", retry=1)), [made], now=NOW + 9)
    assert registry.get_sample_value(f"{LATENCY}_count") == 1
    assert registry.get_sample_value(f"{LATENCY}_sum") == 100_000
