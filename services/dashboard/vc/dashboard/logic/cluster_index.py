"""The cluster as in the view, indexed for requests. An index is
immutable and rebuilt after changes."""

from collections.abc import Iterable

import msgspec

from vc.dashboard.logic.amounts import Resources, pod_amounts, read
from vc.model.api import kinds
from vc.model.api.job import Job
from vc.model.api.keys import DEFAULT_QUEUE, GROUP_NAME, GROUP_NAME_ALTERNATIVE
from vc.model.api.meta import ApiObject, controller_of, object_key
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue

FINISHED_PHASES = ("Succeeded", "Failed")
WAITING_PHASES = ("", "Pending", "Inqueue")
"""Phases of a PodGroup that has not started."""
STARTED_PHASES = ("Running", "Completed")
"""Phases of a PodGroup that has or had what it needs."""


class ClusterIndex(msgspec.Struct, frozen=True, kw_only=True):
    """Objects by key, in the order of keys."""

    jobs: dict[str, Job] = {}
    groups: dict[str, PodGroup] = {}
    pods: dict[str, Pod] = {}
    queues: dict[str, Queue] = {}
    nodes: dict[str, Node] = {}
    members: dict[str, list[Pod]] = {}
    """Pods of each PodGroup."""
    owned: dict[str, list[Pod]] = {}
    """Pods by the uid of their controller."""
    group_by_owner: dict[str, str] = {}
    """Keys of PodGroups by the uid of the vcjob that controls them, whatever their names."""


def build_cluster_index(
    *,
    jobs: Iterable[ApiObject] = (),
    groups: Iterable[ApiObject] = (),
    pods: Iterable[ApiObject] = (),
    queues: Iterable[ApiObject] = (),
    nodes: Iterable[ApiObject] = (),
) -> ClusterIndex:
    """Sort and index the objects of a view."""
    by_key = {pod.key: pod for pod in pods if isinstance(pod, Pod)}
    members: dict[str, list[Pod]] = {}
    owned: dict[str, list[Pod]] = {}
    for key in sorted(by_key):
        pod = by_key[key]
        group = group_of(pod)
        if group:
            members.setdefault(group, []).append(pod)
        # Only pods of vcjobs are shown with a job.
        owner = controller_of(pod.metadata)
        if owner is not None and kinds.JOBS.is_kind_of(owner):
            owned.setdefault(owner.uid, []).append(pod)
    listed = {o.key: o for o in _sorted(groups) if isinstance(o, PodGroup)}
    return ClusterIndex(
        jobs={o.key: o for o in _sorted(jobs) if isinstance(o, Job)},
        groups=listed,
        group_by_owner=_by_owner(listed.values()),
        pods={key: by_key[key] for key in sorted(by_key)},
        queues={o.key: o for o in _sorted(queues) if isinstance(o, Queue)},
        nodes={o.key: o for o in _sorted(nodes) if isinstance(o, Node)},
        members=members,
        owned=owned,
    )


def _by_owner(groups: Iterable[PodGroup]) -> dict[str, str]:
    """PodGroups by the uid of their job. If a job has two, the first by name counts."""
    found: dict[str, str] = {}
    for group in groups:
        owner = controller_of(group.metadata)
        if owner is not None and kinds.JOBS.is_kind_of(owner):
            found.setdefault(owner.uid, group.key)
    return found


def _sorted(objects: Iterable[ApiObject]) -> list[ApiObject]:
    return sorted(objects, key=lambda obj: obj.key)


def group_of(pod: Pod) -> str:
    """The key of the PodGroup of a pod, or empty."""
    annotations = pod.metadata.annotations
    name = annotations.get(GROUP_NAME) or annotations.get(GROUP_NAME_ALTERNATIVE, "")
    return object_key(pod.metadata.namespace, name) if name else ""


def is_placed(pod: Pod) -> bool:
    """Whether the pod uses resources of a node now."""
    return bool(pod.spec.node_name) and pod.status.phase not in FINISHED_PHASES


def group_of_job(cluster_index: ClusterIndex, job: Job) -> PodGroup | None:
    """The PodGroup that the job controls, whatever its name."""
    return cluster_index.groups.get(cluster_index.group_by_owner.get(job.metadata.uid, ""))


def still_waits(group: PodGroup) -> bool:
    """Whether the PodGroup lacks what it needs, according to its status:
    it has not started or lost pods."""
    if group.status.phase not in STARTED_PHASES:
        return True
    return any(c.type == "Unschedulable" and c.status == "True" for c in group.status.conditions)


def used_by_queue(cluster_index: ClusterIndex) -> dict[str, Resources]:
    """Requests of the placed pods of each queue, without child queues."""
    used: dict[str, Resources] = {}
    for key, group in cluster_index.groups.items():
        for pod in cluster_index.members.get(key, ()):
            if is_placed(pod):
                queue = group.spec.queue or DEFAULT_QUEUE
                used.setdefault(queue, Resources()).add(pod_amounts(pod.spec))
    return used


def waiting_by_queue(cluster_index: ClusterIndex) -> dict[str, Resources]:
    """Requests that wait in each queue, without child queues.

    They are the minimums of PodGroups that have not started, and every existing pod without a node,
    including pods beyond the minimum of a gang. The minimum of a PodGroup also contains quota names
    (`requests.cpu`, `count/pods`), which repeat the same amounts and are left out.
    """
    waiting: dict[str, Resources] = {}
    for key, group in cluster_index.groups.items():
        requested = Resources.total(pod_amounts(pod.spec) for pod in unplaced(cluster_index, key))
        if group.status.phase in WAITING_PHASES:
            needed = read(group.spec.min_resources or {})
            # Quota names repeat the same amounts. Existing pods are part of the minimum, so the
            # larger value counts and not the sum.
            requested.raise_to(needed.without([name for name in needed if _is_quota_name(name)]))
        if requested:
            waiting.setdefault(group.spec.queue, Resources()).add(requested)
    return waiting


def unplaced(cluster_index: ClusterIndex, group: str) -> list[Pod]:
    """Pods of a PodGroup that wait for a node."""
    return [
        pod
        for pod in cluster_index.members.get(group, ())
        if not pod.spec.node_name
        and pod.status.phase not in FINISHED_PHASES
        and pod.metadata.deletion_timestamp is None
    ]


def _is_quota_name(resource: str) -> bool:
    return resource.startswith(("requests.", "limits.", "count/"))


def capacity(cluster_index: ClusterIndex) -> Resources:
    """Allocatable resources of all ready nodes."""
    total = Resources()
    for node in cluster_index.nodes.values():
        # Nodes that are not ready cannot run pods now.
        if node.ready:
            total.add(read(node.status.allocatable))
    return total
