"""Conditions and events that the scheduler writes on pods, pod groups and vcjobs."""

from typing import Final

from vc.messages.effects import BindPod, PatchObject, RecordEvent
from vc.messages.partition import vcjob_owner
from vc.model.api.graft import to_json
from vc.model.api.kinds import JOBS, PODGROUPS, PODS, Kind
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod, PodCondition
from vc.model.values.times import format_time
from vc.scheduling.model.decisions import PodRef

POD_SCHEDULED: Final = "PodScheduled"
UNSCHEDULABLE: Final = "Unschedulable"
FAILED_SCHEDULING: Final = "FailedScheduling"
SCHEDULED: Final = "Scheduled"
_FALSE: Final = "False"


def waiting_message(pod: Pod) -> str:
    """Return the message of our condition PodScheduled=False; empty when the pod has none of ours."""
    for condition in pod.status.conditions:
        if condition.type == POD_SCHEDULED:
            # Another writer may set PodScheduled=False with another reason, such as
            # SchedulingGated.
            ours = condition.status == _FALSE and condition.reason == UNSCHEDULABLE
            return condition.message if ours else ""
    return ""


def condition_patch(pod: Pod, message: str, *, now: float) -> PatchObject | None:
    """Return the patch that sets PodScheduled=False; None when the pod already has this condition.

    The patch replaces the whole list of conditions. Therefore the patch has the resourceVersion
    of the pod from which the other conditions were read. A bind in between makes the write fail,
    instead of resetting PodScheduled=True.
    """
    if waiting_message(pod) == message:
        return None
    known = next((c for c in pod.status.conditions if c.type == POD_SCHEDULED), None)
    # The transition time stays when only the message changes, as Kubernetes requires.
    since = known.last_transition_time if known is not None and known.status == _FALSE else None
    ours = PodCondition(
        type=POD_SCHEDULED,
        status=_FALSE,
        reason=UNSCHEDULABLE,
        message=message,
        last_transition_time=since or format_time(now),
    )
    others = [c for c in pod.status.conditions if c.type != POD_SCHEDULED]
    return PatchObject(
        kind=PODS,
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        resource_version=pod.metadata.resource_version,
        subresource="status",
        patch={"status": {"conditions": to_json([*others, ours])}},
    )


def failed_scheduling(pod: PodRef, message: str) -> RecordEvent:
    """Return the event on a pod that waits."""
    return RecordEvent(
        kind=PODS,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        type="Warning",
        reason=FAILED_SCHEDULING,
        message=message,
        aggregate=True,
    )


def assigned(bind: BindPod) -> RecordEvent:
    """Return the event on a pod that was bound."""
    return RecordEvent(
        kind=PODS,
        namespace=bind.namespace,
        name=bind.name,
        uid=bind.uid,
        type="Normal",
        reason=SCHEDULED,
        message=f"Successfully assigned {bind.namespace}/{bind.name} to {bind.node}",
    )


def job_waits(group: ApiObject, message: str) -> list[RecordEvent]:
    """Return the event FailedScheduling on the vcjob that owns a pod group, if there is one."""
    owner = vcjob_owner(group)
    if owner is None:
        return []
    said = ("Warning", FAILED_SCHEDULING, message)
    return [_event(group, kind=JOBS, name=owner.name, uid=owner.uid, said=said)]


def gang_scheduled(group: ApiObject, pods: int) -> list[RecordEvent]:
    """Return the event Scheduled, once per gang, on its pod group and its vcjob."""
    said = ("Normal", SCHEDULED, f"pod group is ready: {pods} pods are bound")
    metadata, owner = group.metadata, vcjob_owner(group)
    events = [_event(group, kind=PODGROUPS, name=metadata.name, uid=metadata.uid, said=said)]
    if owner is not None:
        events.append(_event(group, kind=JOBS, name=owner.name, uid=owner.uid, said=said))
    return events


def _event(
    group: ApiObject, *, kind: Kind, name: str, uid: str, said: tuple[str, str, str]
) -> RecordEvent:
    return RecordEvent(
        kind=kind,
        namespace=group.metadata.namespace,
        name=name,
        uid=uid,
        type=said[0],
        reason=said[1],
        message=said[2],
        aggregate=True,
    )
