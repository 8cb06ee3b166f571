"""Scaling down a job: first the plugins, then the pods.

The remaining pods read the host lists of the job (the ConfigMap of svc). A host must never be
listed after its pod was deleted because of the new replicas. So a pod beyond the wanted replicas
is deleted only when every plugin has answered for the new spec; a plugin answers after its
writes are done. Pods that are deleted for another reason (an earlier attempt, a restart, the end
of the job) do not wait for plugins.
"""

from vc.job_controller.logic.job_pods import JobPod
from vc.job_controller.logic.observation import Observation
from vc.job_controller.logic.phases import LIVE, RESTARTING
from vc.job_controller.logic.to_delete import restarts
from vc.messages.plugins import APPLY
from vc.model.api.job import Job


def to_delete(observation: Observation, *, answered: bool = False) -> list[JobPod]:
    """Pods to delete now. `answered`: every plugin has just answered for this spec."""
    waits = (
        not answered
        and observation.phase in (*LIVE, "", RESTARTING)
        and not plugins_applied(observation)
    )
    return [
        member
        for member in observation.pods_to_delete
        if not member.terminating and not (waits and is_surplus(observation, member))
    ]


def has_surplus(observation: Observation) -> bool:
    """Whether pods exist only because the job had more replicas before."""
    return any(not m.terminating and is_surplus(observation, m) for m in observation.pods_to_delete)


def is_surplus(observation: Observation, member: JobPod) -> bool:
    """Whether the new number of replicas is the only reason to delete a pod."""
    job = observation.job
    # Pods of an older version are deleted anyway, whatever the replicas are.
    if member.version < job.status.version or not _beyond_replicas(job, member):
        return False
    restarting = observation.phase == RESTARTING
    return not (restarting and restarts(job, observation.notes, member))


def plugins_applied(observation: Observation) -> bool:
    """Whether the objects of the plugins match the current spec.

    An answer about another spec may have arrived after the one that was noted (scaled down and up
    again while a plugin was slow). Then the last write of the plugin does not match.
    """
    if observation.notes.plugins_for != observation.hash:
        return False
    return all(
        reply.spec_hash == observation.hash
        for reply in observation.seen.replies.values()
        if reply.verb == APPLY and reply.job_uid == observation.job.metadata.uid
    )


def _beyond_replicas(job: Job, member: JobPod) -> bool:
    return any(
        task.name == member.task and member.index >= task.replicas for task in job.spec.tasks
    )
