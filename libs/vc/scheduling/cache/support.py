"""Finds fields that this release does not support, by the table in `vc.model.support`.

Most objects have none of these fields, so the table is consulted only for objects with one. Each
result is one sentence that begins with the field; the object waits with it (`reasons.unsupported`).
"""

from vc.model.api.graft import to_json
from vc.model.api.keys import NUMA_TOPOLOGY_POLICY
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.model.support import conditions


def unsupported_in_group(group: PodGroup) -> str:
    """The first field that prevents a group from being enqueued; empty for none."""
    if group.spec.network_topology is None and not group.spec.sub_group_policy:
        return ""
    return _first("PodGroup", {"spec": to_json(group.spec)})


def unsupported_in_queue(queue: Queue) -> str:
    """The first field that prevents the jobs of a queue from being enqueued; empty for none."""
    if not queue.spec.extend_clusters:
        return ""
    return _first("Queue", {"spec": to_json(queue.spec)})


def unsupported_in_pod(pod: Pod) -> str:
    """The first field that prevents a pod from being bound; empty for none."""
    spec, annotations = pod.spec, pod.metadata.annotations
    used = spec.resource_claims or spec.scheduling_group or spec.workload_ref
    if not used and NUMA_TOPOLOGY_POLICY not in annotations:
        return ""
    return _first("Pod", {"metadata": {"annotations": annotations}, "spec": to_json(spec)})


def _first(kind: str, written: JsonObject) -> str:
    found = conditions(kind, written)
    return found[0].sentence if found else ""
