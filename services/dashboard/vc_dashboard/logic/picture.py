"""The cluster as the view has it, indexed for questions; made anew when asked, never changed."""

from collections.abc import Iterable

import msgspec

from vc_dashboard.logic.amounts import Amounts, add, pod_amounts, read
from vc_model import kinds
from vc_model.job import Job
from vc_model.keys import DEFAULT_QUEUE, GROUP_NAME, GROUP_NAME_ALTERNATIVE
from vc_model.meta import ApiObject, controller_of, object_key
from vc_model.node import Node
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup, Queue

FINISHED_PHASES = ("Succeeded", "Failed")
WAITING_PHASES = ("", "Pending", "Inqueue")
"""Of a pod group that has not started."""
STARTED_PHASES = ("Running", "Completed")
"""Of one that has, or had, what it needs."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """Objects by key, in the order of keys."""

    jobs: dict[str, Job] = {}
    groups: dict[str, PodGroup] = {}
    pods: dict[str, Pod] = {}
    queues: dict[str, Queue] = {}
    nodes: dict[str, Node] = {}
    members: dict[str, list[Pod]] = {}
    """Pods of each group."""
    owned: dict[str, list[Pod]] = {}
    """Pods by the uid of their controller."""
    group_by_owner: dict[str, str] = {}
    """Keys of pod groups by the uid of the vcjob that controls them, whatever their names."""


def make_picture(
    *,
    jobs: Iterable[ApiObject] = (),
    groups: Iterable[ApiObject] = (),
    pods: Iterable[ApiObject] = (),
    queues: Iterable[ApiObject] = (),
    nodes: Iterable[ApiObject] = (),
) -> Picture:
    """Sort and index what a view gives."""
    by_key = {pod.key: pod for pod in pods if isinstance(pod, Pod)}
    members: dict[str, list[Pod]] = {}
    owned: dict[str, list[Pod]] = {}
    for key in sorted(by_key):
        pod = by_key[key]
        group = group_of(pod)
        if group:
            members.setdefault(group, []).append(pod)
        owner = controller_of(pod.metadata)
        if owner is not None and kinds.JOBS.is_kind_of(owner):
            owned.setdefault(owner.uid, []).append(pod)
    listed = {o.key: o for o in _sorted(groups) if isinstance(o, PodGroup)}
    return Picture(
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
    """The first by name, should a job have two."""
    found: dict[str, str] = {}
    for group in groups:
        owner = controller_of(group.metadata)
        if owner is not None and kinds.JOBS.is_kind_of(owner):
            found.setdefault(owner.uid, group.key)
    return found


def _sorted(objects: Iterable[ApiObject]) -> list[ApiObject]:
    return sorted(objects, key=lambda obj: obj.key)


def group_of(pod: Pod) -> str:
    """The key of the pod's group; empty when it has none."""
    annotations = pod.metadata.annotations
    name = annotations.get(GROUP_NAME) or annotations.get(GROUP_NAME_ALTERNATIVE, "")
    return object_key(pod.metadata.namespace, name) if name else ""


def is_placed(pod: Pod) -> bool:
    """Whether it takes room on a node now."""
    return bool(pod.spec.node_name) and pod.status.phase not in FINISHED_PHASES


def group_of_job(picture: Picture, job: Job) -> PodGroup | None:
    """The pod group that the job controls, whatever its name."""
    return picture.groups.get(picture.group_by_owner.get(job.metadata.uid, ""))


def still_waits(group: PodGroup) -> bool:
    """Whether it has not what it needs, as far as its status says: it has not started, or lost pods."""
    if group.status.phase not in STARTED_PHASES:
        return True
    return any(c.type == "Unschedulable" and c.status == "True" for c in group.status.conditions)


def used_by_queue(picture: Picture) -> dict[str, Amounts]:
    """What the placed pods of each queue ask for, without the queues below."""
    used: dict[str, Amounts] = {}
    for key, group in picture.groups.items():
        for pod in picture.members.get(key, ()):
            if is_placed(pod):
                queue = group.spec.queue or DEFAULT_QUEUE
                add(used.setdefault(queue, {}), pod_amounts(pod.spec))
    return used


def waiting_by_queue(picture: Picture) -> dict[str, Amounts]:
    """What waits in each queue, without the queues below: what groups that have not started need at the
    least, and every pod that exists and has no node, those beyond a gang's minimum included.

    A group states its minimum beside its quota names (`requests.cpu`, `count/pods`), which say it twice.
    """
    waiting: dict[str, Amounts] = {}
    for key, group in picture.groups.items():
        asked: Amounts = {}
        for pod in unplaced(picture, key):
            add(asked, pod_amounts(pod.spec))
        if group.status.phase in WAITING_PHASES:
            needed = read(group.spec.min_resources or {})
            for name, units in needed.items():
                if not _is_quota_name(name):
                    asked[name] = max(asked.get(name, 0), units)
        if asked:
            add(waiting.setdefault(group.spec.queue, {}), asked)
    return waiting


def unplaced(picture: Picture, group: str) -> list[Pod]:
    """Pods of a group that wait for a node."""
    return [
        pod
        for pod in picture.members.get(group, ())
        if not pod.spec.node_name
        and pod.status.phase not in FINISHED_PHASES
        and pod.metadata.deletion_timestamp is None
    ]


def _is_quota_name(resource: str) -> bool:
    return resource.startswith(("requests.", "limits.", "count/"))


def capacity(picture: Picture) -> Amounts:
    """What the ready nodes have together."""
    total: Amounts = {}
    for node in picture.nodes.values():
        if node.ready:
            add(total, read(node.status.allocatable))
    return total
