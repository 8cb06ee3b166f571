"""Puts decisions over the cluster cache as overlays: the next session sees them before the facts do."""

from vc.model.api.meta import ApiObject, object_key
from vc.scheduler.writing.writers import pod_key
from vc.scheduling.cache.cluster_cache import ClusterCache
from vc.scheduling.cache.overlays.assumed_binds import AssumedBind
from vc.scheduling.effects import GroupWork


def assume(cache: ClusterCache, work: GroupWork, group: ApiObject | None, *, now: float) -> bool:
    """Assume the binds and record the status of a group in the overlays.

    Returns False, and changes nothing, when a member was deleted or bound since the snapshot. The
    caller must then not evict pods for the group either.
    """
    gang = work.gang.binds if work.gang is not None else ()
    if not all(cache.bindable(pod_key(bind), bind.uid) for bind in gang):
        return False
    # All checks come before the first change, because an overlay cannot be undone in part.
    if not _still_waits(cache, work, group):
        return False
    for bind in gang:
        cache.assume(AssumedBind(key=pod_key(bind), uid=bind.uid, node=bind.node))
    for choice in work.claims:
        cache.facts.volumes.choose(choice)
    for pod in work.gates.pods if work.gates is not None else ():
        cache.remove_gate(object_key(pod.namespace, pod.name), pod.uid)
    if work.eviction is not None:
        for pod in work.eviction.pods:
            cache.evict(object_key(pod.namespace, pod.name), pod.uid)
        cache.overlays.evictions.nominate(work.eviction, now=now)
    if work.takeover is not None:
        cache.overlays.evictions.take_over(work.takeover, now=now)
    if gang:
        # The gang uses its nodes now, so its nomination ends.
        cache.overlays.evictions.nomination_ended(work.group)
    if work.status is not None:
        cache.assume_status(work.group, work.uid, status=work.status.status, now=now)
    return True


def _still_waits(cache: ClusterCache, work: GroupWork, group: ApiObject | None) -> bool:
    """Whether all pods for which nodes are reserved still exist and wait."""
    reservation = work.eviction or work.takeover
    if reservation is None:
        return True
    return (
        group is not None
        and group.metadata.uid == reservation.uid
        and not group.metadata.deletion_timestamp
        and all(
            cache.bindable(object_key(place.namespace, place.name), place.uid)
            for place in reservation.reserved_nodes
        )
    )
