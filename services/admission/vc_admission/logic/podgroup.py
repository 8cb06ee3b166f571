"""The PodGroup: a namespace may name its queue, and the queue must take it."""

from vc_admission.logic.findings import Findings
from vc_admission.logic.queue_choice import check_queue_open
from vc_admission.logic.topology import check_topology
from vc_admission.logic.world import World
from vc_model.keys import DEFAULT_QUEUE, QUEUE_NAME_ANNOTATION
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


def check_podgroup(found: Findings, group: PodGroup, *, world: World) -> None:
    """A group that is being created."""
    if group.spec.queue:
        check_queue_open(found, "spec.queue", group.spec.queue, world=world)
    if group.spec.min_member < 0:
        found.refuse("spec.minMember", "must be 0 or more", value=group.spec.min_member)
    check_topology(found, "spec.networkTopology", group.spec.network_topology)
    for index, policy in enumerate(group.spec.sub_group_policy):
        path = f"spec.subGroupPolicy[{index}].networkTopology"
        check_topology(found, path, policy.network_topology)
