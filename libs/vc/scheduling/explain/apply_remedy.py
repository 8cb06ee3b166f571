"""Applies a remedy to the objects of a cluster.

The remedy search, the tests of all scenarios and the proof of remedies use the same function.
Therefore the proposed, the checked and the shown change are the same. New nodes have exactly the
resources that the remedy requests, and only the labels that it lists.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from vc.messages.sessions import Unblock, Where
from vc.model.api import kinds
from vc.model.api.keys import GROUP_NAME, SCHEDULER_NAME, TASK_SPEC
from vc.model.api.kubernetes import ResourceQuota
from vc.model.api.meta import ObjectMeta
from vc.model.api.node import Node, NodeCondition, NodeStatus
from vc.model.api.pod import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from vc.model.api.scheduling import PodGroup, PriorityClass, Queue, QueueSpec, QueueStatus
from vc.model.values.quantity import format_resources, parse_resources
from vc.model.values.resources import Resources
from vc.scheduling.explain import apply_storage
from vc.scheduling.explain.apply_field import remove_field
from vc.scheduling.explain.cluster_objects import (
    CannotApplyError,
    Cluster,
    added,
    find,
    members,
    pods,
    requests_of,
)
from vc.scheduling.model.amounts import PODS

NODE_PODS: Final = 110_000
"""Pod capacity of a new node where the remedy does not set it, in units of the resource `pods`."""
WAIT_SECONDS: Final = 31.0
"""Simulated waiting time; longer than the longest bind backoff."""


def apply_remedy(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Apply all parts of a remedy for the pod group with this key.

    Raises CannotApplyError when a part cannot be simulated.
    """
    # Parts are applied in order, because a later one may need what an earlier one creates, such as
    # a queue to which the job moves.
    for part in (remedy, *remedy.also):
        action = _ACTIONS.get(part.action)
        if action is None:
            raise CannotApplyError(f"{part.action} cannot be simulated")
        action(cluster, part, group)


# -- queues and quotas -------------------------------------------------------------------------------


def _create_queue(cluster: Cluster, remedy: Unblock, group: str) -> None:
    del group
    cluster.put(
        Queue(
            metadata=ObjectMeta(name=remedy.target, uid=f"queue-{remedy.target}"),
            spec=QueueSpec(),
            status=QueueStatus(state="Open"),
        )
    )


def _open_queue(cluster: Cluster, remedy: Unblock, group: str) -> None:
    del group
    known = find(cluster, Queue, remedy.target)
    status = msgspec.structs.replace(known.status, state="Open")
    cluster.put(msgspec.structs.replace(known, status=status))


def _move_job(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Move the job to the first listed queue; all listed queues must exist."""
    known = find(cluster, PodGroup, group)
    # All listed queues are looked up, so that a remedy with a queue that does not exist is
    # rejected.
    named = [find(cluster, Queue, name).key for name in remedy.target.split(",")]
    spec = msgspec.structs.replace(known.spec, queue=named[0])
    cluster.put(msgspec.structs.replace(known, spec=spec))


def _raise_capability(cluster: Cluster, remedy: Unblock, group: str) -> None:
    del group
    known = find(cluster, Queue, remedy.target)
    assert remedy.amounts, "by how much"
    _put_queue(cluster, known, capability=added(known.spec.capability, remedy.amounts))


def _raise_deserved(cluster: Cluster, remedy: Unblock, group: str) -> None:
    del group
    known = find(cluster, Queue, remedy.target)
    _put_queue(cluster, known, deserved=added(known.spec.deserved, remedy.amounts))


def _raise_weight(cluster: Cluster, remedy: Unblock, group: str) -> None:
    del group
    known = find(cluster, Queue, remedy.target)
    assert remedy.weight > known.spec.weight
    _put_queue(cluster, known, weight=remedy.weight)


def _allow_reclaim(cluster: Cluster, remedy: Unblock, group: str) -> None:
    del group
    for name in remedy.target.split(","):
        _put_queue(cluster, find(cluster, Queue, name), reclaimable=True)


def _put_queue(cluster: Cluster, known: Queue, **changes: object) -> None:
    spec = msgspec.structs.replace(known.spec, **changes)
    cluster.put(msgspec.structs.replace(known, spec=spec))


def _raise_quota(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Raise the quota in spec and status; the scheduler reads the status."""
    del group
    known = find(cluster, ResourceQuota, remedy.target)
    hard = added(known.status.hard, remedy.amounts)
    cluster.put(
        msgspec.structs.replace(
            known,
            spec=msgspec.structs.replace(known.spec, hard=hard),
            status=msgspec.structs.replace(known.status, hard=hard),
        )
    )


def _lift_budget(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Delete the listed disruption budgets."""
    del group
    for key in remedy.target.split(","):
        cluster.delete(kinds.BUDGETS, key)


# -- nodes -------------------------------------------------------------------------------------------


def _add_nodes(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Add nodes, or enlarge the one node that the remedy selects."""
    del group
    assert remedy.amounts, "nodes for what"
    where = remedy.where or Where()
    nodes = [obj for obj in cluster.objects() if isinstance(obj, Node)]
    known = next((n for n in nodes if n.metadata.name == where.node), None)
    if known is not None:
        cluster.put(_enlarged(known, remedy))
        return
    # A topology spread needs capacity in every domain, so nodes are added for each combination of
    # the existing values.
    values = [_values(nodes, key) for key in where.across]
    for at, domain in enumerate(itertools.product(*values)):
        for n in range(max(1, remedy.pods)):
            labels = dict(where.labels)
            # Anti-affinity needs a domain of its own for each pod.
            labels |= dict.fromkeys(where.apart, f"own-{at}-{n}")
            labels |= dict(zip(where.across, domain, strict=True))
            name = where.node or f"more-{len(nodes)}-{at}-{n}"
            cluster.put(_new_node(name, labels, remedy.amounts))


def _values(nodes: list[Node], key: str) -> list[str]:
    return sorted({n.metadata.labels[key] for n in nodes if key in n.metadata.labels})


def _new_node(name: str, labels: Mapping[str, str], amounts: Mapping[str, int]) -> Node:
    allocatable = dict(format_resources({PODS: NODE_PODS, **amounts}))
    return Node(
        metadata=ObjectMeta(name=name, uid=f"node-{name}", labels=dict(labels)),
        status=NodeStatus(
            allocatable=allocatable,
            capacity=allocatable,
            conditions=[NodeCondition(type="Ready", status="True")],
        ),
    )


def _enlarged(known: Node, remedy: Unblock) -> Node:
    """Return the node with capacity for all pods of the remedy added."""
    times = {name: amount * max(1, remedy.pods) for name, amount in remedy.amounts.items()}
    allocatable = added(known.status.allocatable, times)
    status = msgspec.structs.replace(known.status, allocatable=allocatable, capacity=allocatable)
    return msgspec.structs.replace(known, status=status)


# -- the job and others ------------------------------------------------------------------------------


def _create_pods(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Create more pods like the existing ones of the task.

    A task without pods gets copies of another task's pods. A group without pods gets pods made from
    its minResources.
    """
    own = members(cluster, group)
    of_task = [p for p in own if p.metadata.labels.get(TASK_SPEC) == remedy.target]
    # Existing pods are the best guess of what the controller would create.
    pattern = (of_task or own or [_first_pod(find(cluster, PodGroup, group))])[0]
    name = group.partition("/")[2]
    task = remedy.target if remedy.target != name else ""
    for n in range(remedy.pods):
        more = f"{name}-{task}-more-{n}"
        labels = {**pattern.metadata.labels, **({TASK_SPEC: task} if task else {})}
        metadata = msgspec.structs.replace(
            pattern.metadata, name=more, uid=f"pod-{more}", labels=labels
        )
        cluster.put(
            msgspec.structs.replace(
                pattern,
                metadata=metadata,
                # The pattern may be a pod that runs already, and its copy must be placed first.
                spec=msgspec.structs.replace(pattern.spec, node_name=""),
                status=PodStatus(phase="Pending"),
            )
        )


def _first_pod(group: PodGroup) -> Pod:
    """Return a pod with the average of the group's minResources; without them it requests one CPU."""
    least = parse_resources(group.spec.min_resources or {})
    # Rounded up, so that the pods together never request less than the group does.
    share = {name: -(-amount // max(1, group.spec.min_member)) for name, amount in least.items()}
    requests = dict(format_resources(share or {"cpu": 1000}))
    return Pod(
        metadata=ObjectMeta(
            name="first",
            namespace=group.metadata.namespace,
            annotations={GROUP_NAME: group.metadata.name},
        ),
        spec=PodSpec(
            containers=[Container(resources=ResourceRequirements(requests=requests))],
            scheduler_name=SCHEDULER_NAME,
        ),
    )


def _lift_gates(cluster: Cluster, remedy: Unblock, group: str) -> None:
    # Only as many gates are removed as the remedy states, or the simulation would prove too much.
    gated = [p for p in members(cluster, group) if p.spec.scheduling_gates]
    for waiting in gated[: remedy.pods]:
        spec = msgspec.structs.replace(waiting.spec, scheduling_gates=[])
        cluster.put(msgspec.structs.replace(waiting, spec=spec))


def _create_peer(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Create a running pod with the labels that a required affinity term selects."""
    labels = dict(pair.split("=") for pair in remedy.target.split(", "))
    nodes = [obj for obj in cluster.objects() if isinstance(obj, Node)]
    # The node with the most labels is the most likely one to have the topology key of the term.
    place = max(nodes, key=lambda n: (len(n.metadata.labels), n.metadata.name)).metadata.name
    cluster.put(
        Pod(
            metadata=ObjectMeta(
                name="peer", namespace=group.partition("/")[0], uid="pod-peer", labels=labels
            ),
            spec=PodSpec(
                containers=[Container()], node_name=place, scheduler_name="default-scheduler"
            ),
            status=PodStatus(phase="Running"),
        )
    )


def _raise_priority(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Set the priority class of the group and its waiting pods; create the class if it is missing."""
    classes = [o for o in cluster.objects() if isinstance(o, PriorityClass)]
    if not any(known.key == remedy.target for known in classes):
        cluster.put(PriorityClass(metadata=ObjectMeta(name=remedy.target), value=remedy.priority))
    known = find(cluster, PodGroup, group)
    spec = msgspec.structs.replace(known.spec, priority_class_name=remedy.target)
    cluster.put(msgspec.structs.replace(known, spec=spec))
    for waiting in members(cluster, group):
        # Running pods keep their priority: Kubernetes does not change it after admission.
        if not waiting.spec.node_name:
            higher = msgspec.structs.replace(
                waiting.spec, priority=remedy.priority, priority_class_name=remedy.target
            )
            cluster.put(msgspec.structs.replace(waiting, spec=higher))


def _lower_minimum(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Set minAvailable to `pods`, drop task minimums, and shrink minResources in proportion."""
    known = find(cluster, PodGroup, group)
    least = parse_resources(known.spec.min_resources or {})
    before = max(1, known.spec.min_member)
    # Rounded up, so that the simulated job never requests less than the real one would.
    fewer = {name: -(-amount * remedy.pods // before) for name, amount in least.items()}
    spec = msgspec.structs.replace(
        known.spec,
        min_member=remedy.pods,
        # A minimum of a task could be larger than the new total.
        min_task_member={},
        min_resources=dict(format_resources(fewer)) if known.spec.min_resources else None,
    )
    cluster.put(msgspec.structs.replace(known, spec=spec))


def _shrink_request(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Lower the requests of the waiting pods of task `target`, and minResources with them."""
    waiting = [
        p
        for p in members(cluster, group)
        if not p.spec.node_name and p.metadata.labels.get(TASK_SPEC, "") == remedy.target
    ]
    requests = dict(format_resources({n: a for n, a in remedy.amounts.items() if n != PODS}))
    saved = Resources()
    for pod in waiting:
        asked = requests_of(pod)
        saved.add(asked - Resources(remedy.amounts).only(asked))
        # One container with the whole request has the same effect on scheduling as the original
        # ones.
        containers = [Container(resources=ResourceRequirements(requests=requests))]
        spec = msgspec.structs.replace(pod.spec, containers=containers, init_containers=[])
        cluster.put(msgspec.structs.replace(pod, spec=spec))
    known = find(cluster, PodGroup, group)
    if known.spec.min_resources:
        least = parse_resources(known.spec.min_resources)
        less = {name: max(0, amount - saved[name]) for name, amount in least.items()}
        smaller = msgspec.structs.replace(known.spec, min_resources=dict(format_resources(less)))
        cluster.put(msgspec.structs.replace(known, spec=smaller))


def _end_jobs(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Delete the listed jobs and their pods, as if they had finished."""
    del group
    for key in remedy.jobs:
        for gone in members(cluster, key):
            cluster.delete(kinds.PODS, gone.key)
        cluster.delete(kinds.PODGROUPS, key)


def _wait(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Advance the clock, and remove pods that are terminating."""
    del remedy, group
    # No kubelet ends pods in a simulation, so those that are terminating would never be gone.
    for gone in [p for p in pods(cluster) if p.metadata.deletion_timestamp]:
        cluster.delete(kinds.PODS, gone.key)
    cluster.now += WAIT_SECONDS


_ACTIONS: Final[dict[str, Callable[[Cluster, Unblock, str], None]]] = {
    "create-queue": _create_queue,
    "open-queue": _open_queue,
    "move-job": _move_job,
    "raise-capability": _raise_capability,
    "raise-deserved": _raise_deserved,
    "raise-weight": _raise_weight,
    "allow-reclaim": _allow_reclaim,
    "raise-quota": _raise_quota,
    "lift-budget": _lift_budget,
    "add-room": _add_nodes,
    "reach-volume": _add_nodes,
    "create-pods": _create_pods,
    "lift-gates": _lift_gates,
    "create-peer": _create_peer,
    "raise-priority": _raise_priority,
    "lower-minimum": _lower_minimum,
    "shrink-request": _shrink_request,
    "end-jobs": _end_jobs,
    "wait": _wait,
    "remove-field": remove_field,
    **apply_storage.ACTIONS,
}
ACTIONS: Final = tuple(sorted(_ACTIONS))
"""Names of all remedies that can be simulated, sorted."""
