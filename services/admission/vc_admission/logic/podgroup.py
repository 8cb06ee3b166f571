"""The PodGroup: a namespace may name its queue, and the queue must take it.

PodGroups have no status subresource, so whoever may change one may write its status. What others than our
services write of status and of our annotations is put back as it was, and not refused: operators PUT whole
objects, and have read the status before.
"""

from vc_admission.logic.access import check_class, check_queue_allowed, is_ours
from vc_admission.logic.findings import Findings
from vc_admission.logic.queue_choice import check_queue_open
from vc_admission.logic.topology import check_topology
from vc_admission.logic.wire import Request
from vc_admission.logic.world import World
from vc_model.keys import DEFAULT_QUEUE, PODGROUP_ANNOTATIONS, QUEUE_NAME_ANNOTATION
from vc_model.scheduling import PodGroup
from vc_model.struct import JsonObject


def default_podgroup(
    raw: JsonObject, group: PodGroup, *, namespace: str, world: World
) -> JsonObject:
    """In the default queue, the namespace's annotation names another one."""
    owner = world.namespaces.get(group.metadata.namespace or namespace)
    queue = owner.metadata.annotations.get(QUEUE_NAME_ANNOTATION, "") if owner else ""
    if group.spec.queue != DEFAULT_QUEUE or not queue:
        return raw
    return {**raw, "spec": {**raw["spec"], "queue": queue}}


def restored(raw: JsonObject, old: JsonObject | None) -> JsonObject:
    """The group with the status and our annotations that it had before; without any when it is new."""
    before = old or {}
    known = _annotations(before)
    written = _annotations(raw)
    kept = {key: value for key, value in written.items() if key not in PODGROUP_ANNOTATIONS}
    kept |= {key: known[key] for key in PODGROUP_ANNOTATIONS if key in known}
    result = dict(raw)
    if kept != written:
        result["metadata"] = {**raw["metadata"], "annotations": kept}
    if before.get("status"):
        result["status"] = before["status"]
    else:
        result.pop("status", None)
    return result


def _annotations(raw: JsonObject) -> JsonObject:
    metadata = raw.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def check_podgroup(
    found: Findings, group: PodGroup, *, old: PodGroup | None, request: Request, world: World
) -> None:
    """A group that is being created, or changed from `old`: then only what is new is judged."""
    namespace = group.metadata.namespace or request.namespace
    queue, user = group.spec.queue, request.user_info
    if queue and (old is None or old.spec.queue != queue):
        check_queue_open(found, "spec.queue", queue, world=world)
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
    if group.spec.min_member < 0:
        found.refuse("spec.minMember", "must be 0 or more", value=group.spec.min_member)
    check_topology(found, "spec.networkTopology", group.spec.network_topology)
    for index, policy in enumerate(group.spec.sub_group_policy):
        path = f"spec.subGroupPolicy[{index}].networkTopology"
        check_topology(found, path, policy.network_topology)
