"""The PodGroup: a namespace may name its queue, and the queue must be open for it.

PodGroups have no status subresource, so every user who may change one may write its status.
Changes of the status and of our annotations by other writers are reverted and not refused:
operators PUT whole objects with a status they read before. The queue of a PodGroup that has
started is restored too: pods that run in another queue than the one they were placed in would be
out of reach of its preemptors.
"""

from typing import Final

from vc.model.api.keys import DEFAULT_QUEUE, PODGROUP_ANNOTATIONS, QUEUE_NAME_ANNOTATION
from vc.model.api.scheduling import PodGroup
from vc.model.api.struct import JsonObject
from vc.validation.access import check_class, check_queue_allowed, is_ours
from vc.validation.queue_choice import check_queue_open
from vc.validation.request import ReviewRequest
from vc.validation.result import ValidationResult
from vc.validation.topology import check_topology
from vc.validation.world import World

NOT_STARTED: Final = ("", "Pending", "Inqueue")
"""Phases in which a PodGroup may move to another queue."""


def default_podgroup(
    raw: JsonObject, group: PodGroup, *, namespace: str, world: World
) -> JsonObject:
    """Replace the default queue by the one that the namespace's annotation names."""
    owner = world.namespaces.get(group.metadata.namespace or namespace)
    queue = owner.metadata.annotations.get(QUEUE_NAME_ANNOTATION, "") if owner else ""
    # A queue that the user chose is kept.
    if group.spec.queue != DEFAULT_QUEUE or not queue:
        return raw
    return {**raw, "spec": {**raw["spec"], "queue": queue}}


def restored(raw: JsonObject, old: JsonObject | None) -> JsonObject:
    """The PodGroup with its previous status and our previous annotations. A new one has neither."""
    before = old or {}
    known = _annotations(before)
    written = _annotations(raw)
    # Annotations of ours are taken from the old object only, never from the request.
    kept = {key: value for key, value in written.items() if key not in PODGROUP_ANNOTATIONS}
    kept |= {key: known[key] for key in PODGROUP_ANNOTATIONS if key in known}
    result = dict(raw)
    if kept != written:
        result["metadata"] = {**raw["metadata"], "annotations": kept}
    # A status that did not exist before was written by the client and is removed.
    if before.get("status"):
        result["status"] = before["status"]
    else:
        result.pop("status", None)
    return _in_its_queue(result, before)


def _in_its_queue(raw: JsonObject, before: JsonObject) -> JsonObject:
    """The PodGroup with the queue in which it started."""
    status, spec, was = before.get("status"), raw.get("spec"), before.get("spec")
    phase = status.get("phase", "") if isinstance(status, dict) else ""
    # Before it starts a PodGroup may move, because none of its pods hold resources.
    if phase in NOT_STARTED or not isinstance(spec, dict) or not isinstance(was, dict):
        return raw
    if spec.get("queue") == was.get("queue"):
        return raw
    kept = {key: value for key, value in spec.items() if key != "queue"}
    return {**raw, "spec": kept | ({"queue": was["queue"]} if "queue" in was else {})}


def _annotations(raw: JsonObject) -> JsonObject:
    metadata = raw.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def check_podgroup(
    found: ValidationResult,
    group: PodGroup,
    *,
    old: PodGroup | None,
    request: ReviewRequest,
    world: World,
) -> None:
    """Check a PodGroup that is created, or changed from `old`. On a
    change only new values are checked."""
    namespace = group.metadata.namespace or request.namespace
    queue, user = group.spec.queue, request.user_info
    # An unchanged queue is not checked, so that a PodGroup of a closed queue can be updated.
    if queue and (old is None or old.spec.queue != queue):
        check_queue_open(found, "spec.queue", queue, world=world)
    # Our controllers copy queue and class from objects that were checked before.
    if not is_ours(request, world):
        moved = old is None or old.spec.queue != queue
        if moved:
            check_queue_allowed(
                found, "spec.queue", queue or DEFAULT_QUEUE,
                namespace=namespace, user=user, world=world,
            )  # fmt: skip
        name = group.spec.priority_class_name
        if old is None or old.spec.priority_class_name != name:
            check_class(found, "spec.priorityClassName", name, namespace=namespace, world=world)
    if old is not None:
        return
    # The rest of the spec was checked at creation, and operators write whole objects.
    if group.spec.min_member < 0:
        found.refuse("spec.minMember", "must be 0 or more", value=group.spec.min_member)
    check_topology(found, "spec.networkTopology", group.spec.network_topology)
    for index, policy in enumerate(group.spec.sub_group_policy):
        path = f"spec.subGroupPolicy[{index}].networkTopology"
        check_topology(found, path, policy.network_topology)
