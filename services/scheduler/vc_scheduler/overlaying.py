"""What was decided about a group, over the columns: the next session sees it before the API server does."""

from vc_model.meta import ApiObject, object_key
from vc_scheduler.logic.cache.assumed import Assumed
from vc_scheduler.logic.columns import Columns
from vc_scheduler.logic.commands import GroupWork
from vc_scheduler.writers import pod_key


def lay_over(columns: Columns, work: GroupWork, group: ApiObject | None, *, now: float) -> bool:
    """Assume the binds and note the status; False when a member left since the snapshot: then
    nobody is evicted for it either."""
    gang = work.gang.binds if work.gang is not None else ()
    if not all(columns.bindable(pod_key(bind), bind.uid) for bind in gang):
        return False
    if not _still_waits(columns, work, group):
        return False
    for bind in gang:
        columns.assume(Assumed(key=pod_key(bind), uid=bind.uid, node=bind.node))
    for choice in work.claims:
        columns.volumes.choose(choice)
    for pod in work.gates.pods if work.gates is not None else ():
        columns.lift_gate(object_key(pod.namespace, pod.name), pod.uid)
    if work.eviction is not None:
        for pod in work.eviction.pods:
            columns.evict(object_key(pod.namespace, pod.name), pod.uid)
        columns.evictions.nominate(work.eviction, now=now)
    if work.takeover is not None:
        columns.evictions.take_over(work.takeover, now=now)
    if gang:
        columns.evictions.settled(work.group)
    if work.status is not None:
        columns.note_status(work.group, work.uid, status=work.status.status, now=now)
    return True


def _still_waits(columns: Columns, work: GroupWork, group: ApiObject | None) -> bool:
    """Whether those for whom room is made, or promised, are all there and wait."""
    promise = work.eviction or work.takeover
    if promise is None:
        return True
    return (
        group is not None
        and group.metadata.uid == promise.uid
        and not group.metadata.deletion_timestamp
        and all(
            columns.bindable(object_key(place.namespace, place.name), place.uid)
            for place in promise.places
        )
    )
