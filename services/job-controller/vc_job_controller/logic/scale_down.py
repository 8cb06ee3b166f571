"""In which order a job is scaled down: the plugins first, then the pods.

Pods that stay read the job's host lists (svc's ConfigMap). They must never find a host there whose pod was
already deleted because of the new replicas. So a pod beyond the wanted replicas is deleted only when every
plugin has answered for the new spec: a plugin answers after what it writes is written. Pods that have to go
for another reason (an attempt that is over, a restart, the end of the job) wait for no plugin.
"""

from vc_job_controller.logic.doomed import restarts
from vc_job_controller.logic.members import Member
from vc_job_controller.logic.phases import LIVE, RESTARTING
from vc_job_controller.logic.sight import Sight
from vc_messages.plugins import APPLY
from vc_model.job import Job


def to_delete(sight: Sight, *, answered: bool = False) -> list[Member]:
    """Pods that are to be deleted now; `answered`: every plugin has just answered for this spec."""
    waits = not answered and sight.phase in (*LIVE, "", RESTARTING) and not plugins_applied(sight)
    return [
        member
        for member in sight.doomed
        if not member.terminating and not (waits and is_surplus(sight, member))
    ]


def has_surplus(sight: Sight) -> bool:
    """Whether pods are there only because the job had more replicas before."""
    return any(not m.terminating and is_surplus(sight, m) for m in sight.doomed)


def is_surplus(sight: Sight, member: Member) -> bool:
    """Whether the new number of replicas is the only reason to delete a pod."""
    job = sight.job
    if member.version < job.status.version or not _beyond_replicas(job, member):
        return False
    restarting = sight.phase == RESTARTING
    return not (restarting and restarts(job, sight.notes, member))


def plugins_applied(sight: Sight) -> bool:
    """Whether what plugins keep for the job is that of the spec as it is now.

    An answer about another spec may have come after the one that was noted (scaled down and up again while
    a plugin was slow): then what the plugin wrote last is not what is wanted.
    """
    if sight.notes.plugins_for != sight.hash:
        return False
    return all(
        reply.spec_hash == sight.hash
        for reply in sight.seen.answers.values()
        if reply.verb == APPLY and reply.job_uid == sight.job.metadata.uid
    )


def _beyond_replicas(job: Job, member: Member) -> bool:
    return any(
        task.name == member.task and member.index >= task.replicas for task in job.spec.tasks
    )
