"""Transitions that follow from the pods, without an order."""

from vc.job_controller.logic.counts import Counts
from vc.job_controller.logic.job_pods import POD_SUCCEEDED
from vc.job_controller.logic.phases import (
    COMPLETED,
    ENDS_AS,
    FAILED,
    KILLING,
    PENDING,
    RESTARTING,
    RUNNING,
)
from vc.jobs.defaults import replicas_of
from vc.model.api.job import Job, TaskSpec


def next_phase(job: Job, counted: Counts, *, deletions_left: int) -> str:
    """The phase that follows from the pods, or the same phase.

    `deletions_left` is the number of pods of a restart whose deletion was not requested yet.
    """
    phase = job.status.state.phase
    if phase == "":
        return PENDING
    if phase == PENDING:
        return _from_pending(job, counted)
    if phase == RUNNING:
        return _from_running(job, counted)
    if phase == RESTARTING:
        return _from_restarting(job, counted, deletions_left)
    if phase in KILLING:
        return ENDS_AS[phase] if counted.busy == 0 else phase
    return phase


def _from_pending(job: Job, counted: Counts) -> str:
    up = counted.running + counted.succeeded + counted.failed
    return RUNNING if up >= job.spec.min_available else PENDING


def _from_running(job: Job, counted: Counts) -> str:
    """Apply the completion rules in their order."""
    spec, replicas = job.spec, replicas_of(job.spec)
    if replicas == 0:
        return RUNNING  # a job scaled to zero has not completed
    if spec.min_success is not None and counted.succeeded >= spec.min_success:
        return COMPLETED
    if counted.succeeded + counted.failed == replicas:
        return _outcome(job, counted)
    # Too many pods are pending for a whole gang, so the job no longer counts as running.
    if counted.pending > replicas - spec.min_available:
        return PENDING
    return RUNNING


def _outcome(job: Job, counted: Counts) -> str:
    """Completed or Failed, when all pods have ended."""
    spec = job.spec
    # Minimums of tasks apply only if the job's minimum covers all of them.
    whole_gang = spec.min_available >= sum(task.min_available or 0 for task in spec.tasks)
    if whole_gang and any(_fell_short(task, counted) for task in spec.tasks):
        return FAILED
    if spec.min_success is not None:
        return FAILED  # enough successes would have completed it before
    return COMPLETED if counted.succeeded >= spec.min_available else FAILED


def _fell_short(task: TaskSpec, counted: Counts) -> bool:
    phases = counted.by_task.get(task.name, {})
    if task.min_available is None or not phases:
        return False
    return phases.get(POD_SUCCEEDED, 0) < task.min_available


def _from_restarting(job: Job, counted: Counts, deletions_left: int) -> str:
    """Failed without retries left, else Pending once enough indices have no terminating pod."""
    if job.status.retry_count >= job.spec.max_retry:
        return FAILED
    free = replicas_of(job.spec) - counted.terminating
    if deletions_left == 0 and free >= job.spec.min_available:
        return PENDING
    return RESTARTING
