"""Where a phase leads by itself: what the pods bring about, without anybody's order."""

from vc_job_controller.logic.defaults import replicas_of
from vc_job_controller.logic.members import POD_SUCCEEDED
from vc_job_controller.logic.phases import (
    COMPLETED,
    ENDS_AS,
    FAILED,
    KILLING,
    PENDING,
    RESTARTING,
    RUNNING,
)
from vc_job_controller.logic.tally import Tally
from vc_model.job import Job, TaskSpec


def settle(job: Job, counted: Tally, *, doomed_left: int) -> str:
    """The phase that follows from the pods; the same one when nothing follows.

    `doomed_left`: pods of a restart that nobody has asked to go yet.
    """
    phase = job.status.state.phase
    if phase == "":
        return PENDING
    if phase == PENDING:
        return _from_pending(job, counted)
    if phase == RUNNING:
        return _from_running(job, counted)
    if phase == RESTARTING:
        return _from_restarting(job, counted, doomed_left)
    if phase in KILLING:
        return ENDS_AS[phase] if counted.busy == 0 else phase
    return phase


def _from_pending(job: Job, counted: Tally) -> str:
    up = counted.running + counted.succeeded + counted.failed
    return RUNNING if up >= job.spec.min_available else PENDING


def _from_running(job: Job, counted: Tally) -> str:
    """The completion rules, in their order."""
    spec, replicas = job.spec, replicas_of(job.spec)
    if replicas == 0:
        return RUNNING  # scaled to zero is not completed
    if spec.min_success is not None and counted.succeeded >= spec.min_success:
        return COMPLETED
    if counted.succeeded + counted.failed == replicas:
        return _outcome(job, counted)
    if counted.pending > replicas - spec.min_available:
        return PENDING
    return RUNNING


def _outcome(job: Job, counted: Tally) -> str:
    """Everything has ended: well or not?"""
    spec = job.spec
    whole_gang = spec.min_available >= sum(task.min_available or 0 for task in spec.tasks)
    if whole_gang and any(_fell_short(task, counted) for task in spec.tasks):
        return FAILED
    if spec.min_success is not None:
        return FAILED  # as many as were wanted would have completed it before
    return COMPLETED if counted.succeeded >= spec.min_available else FAILED


def _fell_short(task: TaskSpec, counted: Tally) -> bool:
    phases = counted.by_task.get(task.name, {})
    if task.min_available is None or not phases:
        return False
    return phases.get(POD_SUCCEEDED, 0) < task.min_available


def _from_restarting(job: Job, counted: Tally, doomed_left: int) -> str:
    """Out of retries: failed. Else on again, once enough places are free."""
    if job.status.retry_count >= job.spec.max_retry:
        return FAILED
    free = replicas_of(job.spec) - counted.terminating
    if doomed_left == 0 and free >= job.spec.min_available:
        return PENDING
    return RESTARTING
