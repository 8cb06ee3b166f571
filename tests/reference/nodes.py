"""Predicates and scores of the reference: which node a pod is placed on."""

import math

from tests.reference.cluster import Cluster, Node, Pod, Term
from tests.reference.shares import MILLION
from vc.model.api.node import Taint

MEBI = 1024 * 1024
GPU = "nvidia.com/gpu"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def best_node(cluster: Cluster, pod: Pod, *, binpack: bool) -> Node | None:
    """The best score of those with capacity, the first of equals."""
    fitting = [node for node in cluster.nodes.values() if _fits(cluster, pod, node)]
    return max(fitting, key=lambda node: _score(cluster, pod, node, binpack=binpack), default=None)


def capacity_for(cluster: Cluster, pod: Pod) -> int:
    """How many such pods all nodes could take, one node beside the other."""
    return sum(_times(pod, node) for node in cluster.nodes.values() if _may_go(pod, node))


def _times(pod: Pod, node: Node) -> int:
    used = node.used
    return max(0, min((node.allocatable.get(n, 0) - used.get(n, 0)) // amount for n, amount in pod.request.items()))  # fmt: skip


def _score(cluster: Cluster, pod: Pod, node: Node, *, binpack: bool) -> int:
    """Spread and balanced, near its images, and with binpack full."""
    cpu, memory = _part(pod, node, "cpu"), _part(pod, node, "memory")
    score = 2 * MILLION - (cpu + memory) // 2 - _apart(pod, node, cpu, memory)
    score += _locality(cluster, pod, node) + 2 * _nearness(cluster, pod, node)
    if binpack:
        counted = [name for name in pod.request if name in ("cpu", "memory") or "/" in name]
        parts = sum(_part(pod, node, name) for name in counted)
        score += parts // len(counted) if counted else 0
    return score


def _locality(cluster: Cluster, pod: Pod, node: Node) -> int:
    """How much of its images is there, each counted by the part of the nodes that have it."""
    ready = [other for other in cluster.nodes.values() if other.ready]
    there = 0
    for image in pod.images:
        having = [other for other in ready if image in other.images]
        there += node.images.get(image, 0) * len(having) // len(ready)
    most = 1000 * MEBI * len(pod.images)
    return (max(23 * MEBI, min(there, most)) - 23 * MEBI) * MILLION // (most - 23 * MEBI)


def _nearness(cluster: Cluster, pod: Pod, node: Node) -> int:
    """What the pod and those that lie somewhere prefer about one another, over the nodes it may go to."""
    allowed = [other for other in cluster.nodes.values() if _allowed(cluster, pod, other)]
    liked = {other.name: _liked(cluster, pod, other) for other in allowed}
    least, most = min(liked.values()), max(liked.values())
    return (liked[node.name] - least) * MILLION // (most - least) if most > least else 0


def _liked(cluster: Cluster, pod: Pod, node: Node) -> int:
    liked = 0
    for there in cluster.nodes.values():
        for other in there.pods:
            for term in pod.rather:
                if _speaks_of(term, other) and _together(term, node, there):
                    liked += term.weight
            for term in other.rather:
                if _speaks_of(term, pod) and _together(term, node, there):
                    liked += term.weight
            for term in other.near:
                if _speaks_of(term, pod) and _together(term, node, there):
                    liked += 1
    return liked


def _speaks_of(term: Term, pod: Pod) -> bool:
    return all(pod.labels.get(key) == value for key, value in term.labels.items())


def _together(term: Term, one: Node, other: Node) -> bool:
    return term.key in one.labels and one.labels[term.key] == other.labels.get(term.key)


def _near_whom_it_must(cluster: Cluster, pod: Pod, node: Node) -> bool:
    """Of each term a pod is near; the first of those that want their own kind may go where the key is."""
    found: list[list[Node]] = [
        [n for n in cluster.nodes.values() for other in n.pods if _speaks_of(term, other)]
        for term in pod.near
    ]
    if not any(found) and all(_speaks_of(term, pod) for term in pod.near):
        return all(term.key in node.labels for term in pod.near)
    return all(
        any(_together(term, node, there) for there in nodes)
        for term, nodes in zip(pod.near, found, strict=True)
    )


def _far_from_whom_it_must(cluster: Cluster, pod: Pod, node: Node) -> bool:
    """Neither it nor who lies there wants the other far away."""
    for there in cluster.nodes.values():
        for other in there.pods:
            mine = [term for term in pod.far if _speaks_of(term, other)]
            theirs = [term for term in other.far if _speaks_of(term, pod)]
            if any(_together(term, node, there) for term in [*mine, *theirs]):
                return False
    return True


def _even(cluster: Cluster, pod: Pod, node: Node, spread: Term) -> bool:
    """With one more here no domain has too many more than the emptiest; domains are made of the nodes that
    its selector and node affinity let through."""
    found: dict[str, int] = {}
    for there in cluster.nodes.values():
        if spread.key in there.labels and _selected(pod, there):
            domain = there.labels[spread.key]
            meant = sum(_speaks_of(spread, other) for other in there.pods)
            found[domain] = found.get(domain, 0) + meant
    if spread.key not in node.labels:
        return False
    here = found[node.labels[spread.key]] + _speaks_of(spread, pod)
    return here - min(found.values()) <= spread.weight


def _apart(pod: Pod, node: Node, cpu: int, memory: int) -> int:
    """The standard deviation of what is used, with accelerators for pods that want them."""
    if not pod.request.get(GPU):
        return abs(cpu - memory) // 2
    parts = (cpu, memory, _part(pod, node, GPU))
    mean = sum(parts) // 3
    return math.isqrt(sum((part - mean) ** 2 for part in parts) // 3)


def _part(pod: Pod, node: Node, resource: str) -> int:
    """How full the node would be, in millionths."""
    used = node.used.get(resource, 0) + pod.request.get(resource, 0)
    return int(min(used / max(1, node.allocatable.get(resource, 0)) * MILLION, MILLION))


def _allowed(cluster: Cluster, pod: Pod, node: Node) -> bool:
    """Regardless of free capacity."""
    taken = [port for other in node.pods for port in other.ports]
    return (
        _may_go(pod, node)
        and not any(port in taken for port in pod.ports)
        and _near_whom_it_must(cluster, pod, node)
        and _far_from_whom_it_must(cluster, pod, node)
        and all(_even(cluster, pod, node, term) for term in pod.spread)
    )


def _fits(cluster: Cluster, pod: Pod, node: Node) -> bool:
    if not _allowed(cluster, pod, node):
        return False
    used = node.used
    return all(used.get(n, 0) + amount <= node.allocatable.get(n, 0) for n, amount in pod.request.items())  # fmt: skip


def _may_go(pod: Pod, node: Node) -> bool:
    if not node.ready or not (node.schedulable or _tolerates(pod, CORDON)):
        return False
    return _selected(pod, node) and all(_tolerates(pod, taint) for taint in node.taints)


def _selected(pod: Pod, node: Node) -> bool:
    if any(node.labels.get(key) != value for key, value in pod.selector.items()):
        return False
    return pod.required is None or any(
        all(node.labels.get(key) in values for key, values in term.items()) for term in pod.required
    )


def _tolerates(pod: Pod, taint: Taint) -> bool:
    return any(
        toleration.effect in ("", None, taint.effect)
        and toleration.key in ("", None, taint.key)
        and (
            toleration.operator == "Exists"
            or (bool(toleration.key) and toleration.value == taint.value)
        )
        for toleration in pod.tolerations
    )
