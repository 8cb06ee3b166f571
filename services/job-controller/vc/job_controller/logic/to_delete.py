"""Which pods are to be deleted, derived from the phase and the notes.

In phases that run or restart: pods of earlier attempts, pods beyond the wanted replicas, and pods
of no task. While the job restarts also the pods that its scope covers and that were created
before this retry. In every phase that ends: pods that are still alive. Ended pods are kept,
because users read their logs.
"""

from vc.job_controller.logic.job_pods import JobPod, JobPods
from vc.job_controller.logic.notes import Notes
from vc.job_controller.logic.phases import LIVE, RESTARTING, Restart
from vc.model.api.job import Job


def pods_to_delete(job: Job, members: JobPods, notes: Notes) -> list[JobPod]:
    """Pods to delete, including those that are already terminating."""
    phase, version = job.status.state.phase, job.status.version
    replicas = {task.name: task.replicas for task in job.spec.tasks}
    if phase in LIVE or phase in ("", RESTARTING):
        restarting = phase == RESTARTING
        return [
            m
            for m in members
            if m.version < version
            or m.index >= replicas.get(m.task, 0)
            or (restarting and restarts(job, notes, m))
        ]
    return [m for m in members if not m.ended]


def restarts(job: Job, notes: Notes, member: JobPod) -> bool:
    """Whether the current restart runs the pod again."""
    scope = notes.scope
    # A pod of this retry is the replacement already.
    if scope is None or member.retry >= job.status.retry_count:
        return False
    if scope.restart is Restart.UNFINISHED:
        return not member.ended
    return scope.covers(member)
