"""Which pods must go, read off the phase and the notes.

Always: pods of an attempt that is over, pods beyond the wanted replicas, pods of no task. While the
job restarts: what its scope covers and was made before this retry. In every phase that ends: what
is still alive; what has ended stays, because people read its logs.
"""

from vc_job_controller.logic.members import Member, Members
from vc_job_controller.logic.notes import Notes
from vc_job_controller.logic.phases import LIVE, RESTARTING, Restart
from vc_model.job import Job


def doomed(job: Job, members: Members, notes: Notes) -> list[Member]:
    """Pods that must go, also those that are going already."""
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


def restarts(job: Job, notes: Notes, member: Member) -> bool:
    """Whether a restart under way runs the pod again."""
    scope = notes.scope
    if scope is None or member.retry >= job.status.retry_count:
        return False
    if scope.restart is Restart.UNFINISHED:
        return not member.ended
    return scope.covers(member)
