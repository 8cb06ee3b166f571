"""What is written on pods, pod groups and vcjobs about waiting and about being scheduled."""

from typing import Final

from vc_messages.effects import BindPod, PatchObject, RecordEvent
from vc_messages.partition import vcjob_owner
from vc_model.graft import to_json
from vc_model.kinds import JOBS, PODGROUPS, PODS, Kind
from vc_model.meta import ApiObject
from vc_model.pod import Pod, PodCondition
from vc_model.times import format_time
from vc_scheduler.logic.decisions import PodRef

POD_SCHEDULED: Final = "PodScheduled"
UNSCHEDULABLE: Final = "Unschedulable"
FAILED_SCHEDULING: Final = "FailedScheduling"
SCHEDULED: Final = "Scheduled"
_FALSE: Final = "False"


def waiting_message(pod: Pod) -> str:
    """What its condition PodScheduled says of why it waits; empty when it has none of ours."""
    for condition in pod.status.conditions:
        if condition.type == POD_SCHEDULED:
            ours = condition.status == _FALSE and condition.reason == UNSCHEDULABLE
            return condition.message if ours else ""
    return ""


def condition_patch(pod: Pod, message: str, *, now: float) -> PatchObject | None:
    """PodScheduled=False beside the other conditions; None when the pod says so already.

    The list is replaced whole, so the pod must be the one in which the others were seen; a bind in
    between makes the write fail instead of taking PodScheduled=True back.
    """
    if waiting_message(pod) == message:
        return None
    known = next((c for c in pod.status.conditions if c.type == POD_SCHEDULED), None)
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
    """For those who look at a waiting pod."""
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
    """For those who look at a pod that has a node."""
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
    """FailedScheduling on the vcjob of a pod group, where it has one."""
    owner = vcjob_owner(group)
    if owner is None:
        return []
    said = ("Warning", FAILED_SCHEDULING, message)
    return [_event(group, kind=JOBS, name=owner.name, uid=owner.uid, said=said)]


def gang_scheduled(group: ApiObject, pods: int) -> list[RecordEvent]:
    """Scheduled, once a gang: on its pod group and on its vcjob."""
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
