"""Which node a pod goes to; the reference's way."""

import math

from tests.reference.cluster import Cluster, Node, Pod
from tests.reference.shares import MILLION
from vc_model.node import Taint

MEBI = 1024 * 1024
GPU = "nvidia.com/gpu"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def best_node(cluster: Cluster, pod: Pod, *, binpack: bool) -> Node | None:
    """The best score of those that have room, the first of equals."""
    fitting = [node for node in cluster.nodes.values() if _fits(pod, node)]
    return max(fitting, key=lambda node: _score(cluster, pod, node, binpack=binpack), default=None)


def room_for(cluster: Cluster, pod: Pod) -> int:
    """How many such pods all nodes could take, one node beside the other."""
    return sum(_times(pod, node) for node in cluster.nodes.values() if _may_go(pod, node))


def _times(pod: Pod, node: Node) -> int:
    used = node.used
    return max(0, min((node.allocatable.get(n, 0) - used.get(n, 0)) // amount for n, amount in pod.request.items()))  # fmt: skip


def _score(cluster: Cluster, pod: Pod, node: Node, *, binpack: bool) -> int:
    """Spread and balanced, near its images, and with binpack full."""
    cpu, memory = _part(pod, node, "cpu"), _part(pod, node, "memory")
    score = 2 * MILLION - (cpu + memory) // 2 - _apart(pod, node, cpu, memory)
    score += _locality(cluster, pod, node)
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


def _fits(pod: Pod, node: Node) -> bool:
    if not _may_go(pod, node):
        return False
    taken = [port for other in node.pods for port in other.ports]
    if any(port in taken for port in pod.ports):
        return False
    used = node.used
    return all(used.get(n, 0) + amount <= node.allocatable.get(n, 0) for n, amount in pod.request.items())  # fmt: skip


def _may_go(pod: Pod, node: Node) -> bool:
    if not node.ready or not (node.schedulable or _tolerates(pod, CORDON)):
        return False
    if any(node.labels.get(key) != value for key, value in pod.selector.items()):
        return False
    if pod.required is not None and not any(
        all(node.labels.get(key) in values for key, values in term.items()) for term in pod.required
    ):
        return False
    return all(_tolerates(pod, taint) for taint in node.taints)


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
