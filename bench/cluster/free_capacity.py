"""Check before the first submission that the pods fit on the nodes of the cluster."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from bench.cluster.shapes import PodTemplate, Shape
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.values.quantity import parse_resources

_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_ENDED = ("Succeeded", "Failed")


class FreeCapacity(msgspec.Struct, frozen=True, kw_only=True):
    """Free capacity of the cluster for pods of one template."""

    nodes: int
    """Number of ready nodes that accept such pods."""
    pods: int
    """Number of pods that still fit on these nodes."""
    pods_per_node: int
    """Number of pods that fit on the largest of these nodes while it is empty."""


def free_capacity_for(
    template: PodTemplate, nodes: Iterable[Node], pods: Iterable[Pod]
) -> FreeCapacity:
    """Count the pods that fit on each node beside those that run there."""
    needs = parse_resources({"cpu": template.cpu, "memory": template.memory, "pods": "1"})
    used = _used(pods)
    usable = [node for node in nodes if _takes(node, template)]
    sizes = {node.metadata.name: parse_resources(node.status.allocatable) for node in usable}
    free = [_fits(size, used.get(name, Counter()), needs) for name, size in sizes.items()]
    empty = [_fits(size, {}, needs) for size in sizes.values()]
    return FreeCapacity(nodes=len(usable), pods=sum(free), pods_per_node=max(empty, default=0))


def why_too_small(free: FreeCapacity, shape: Shape, template: PodTemplate) -> str:
    """Why a shape does not fit and how many nodes are missing; empty when it fits."""
    if not free.nodes:
        return (
            "no node of the cluster is ready and takes pods of the benchmark: add some (fake ones "
            "do), or see --node-selector and --tolerate-all"
        )
    if free.pods >= shape.total:
        return ""
    cpus = parse_resources({"cpu": template.cpu})["cpu"] * shape.total / 1000
    each = f"{template.cpu} CPU and {template.memory} memory"
    short = shape.total - free.pods
    more = (
        f"{math.ceil(short / free.pods_per_node)} more nodes like the largest of them would do"
        if free.pods_per_node
        else "none of them could take even one"
    )
    return (
        f"{shape} needs capacity for {shape.total:,} pods of {each} ({cpus:g} CPUs); "
        f"the {free.nodes} usable nodes have capacity for {free.pods:,}: {more}"
    )


def _takes(node: Node, template: PodTemplate) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in template.node_selector.items()):
        return False
    tainted = any(taint.effect in _KEEPS_AWAY for taint in node.spec.taints)
    return node.ready and not node.spec.unschedulable and (template.tolerates_all or not tainted)


def _used(pods: Iterable[Pod]) -> dict[str, Counter[str]]:
    used: dict[str, Counter[str]] = {}
    for pod in pods:
        if not pod.spec.node_name or pod.status.phase in _ENDED:
            continue
        on_node = used.setdefault(pod.spec.node_name, Counter())
        on_node.update(parse_resources({"pods": "1"}))
        for container in pod.spec.containers:
            on_node.update(parse_resources(container.resources.requests))
    return used


def _fits(size: Mapping[str, int], used: Mapping[str, int], needs: Mapping[str, int]) -> int:
    free = (size.get(what, 0) - used.get(what, 0) for what in needs)
    return max(
        0, min(have // need for have, need in zip(free, needs.values(), strict=True) if need)
    )
