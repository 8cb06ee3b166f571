"""Whether the nodes that are there can take what will be submitted, said before anything is."""

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


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What is free for pods of one template."""

    nodes: int
    """Ready ones that take such pods."""
    pods: int
    """That still fit on them."""
    pods_per_node: int
    """On the largest of them, if it were empty."""


def room_for(template: PodTemplate, nodes: Iterable[Node], pods: Iterable[Pod]) -> Room:
    """How many more pods fit, node by node; what runs already is counted."""
    needs = parse_resources({"cpu": template.cpu, "memory": template.memory, "pods": "1"})
    used = _used(pods)
    usable = [node for node in nodes if _takes(node, template)]
    sizes = {node.metadata.name: parse_resources(node.status.allocatable) for node in usable}
    free = [_fits(size, used.get(name, Counter()), needs) for name, size in sizes.items()]
    empty = [_fits(size, {}, needs) for size in sizes.values()]
    return Room(nodes=len(usable), pods=sum(free), pods_per_node=max(empty, default=0))


def why_no_room(room: Room, shape: Shape, template: PodTemplate) -> str:
    """What is missing for a shape, and how much would do; empty when it fits."""
    if not room.nodes:
        return (
            "no node of the cluster is ready and takes pods of the benchmark: add some (fake ones "
            "do), or see --node-selector and --tolerate-all"
        )
    if room.pods >= shape.total:
        return ""
    cpus = parse_resources({"cpu": template.cpu})["cpu"] * shape.total / 1000
    each = f"{template.cpu} CPU and {template.memory} memory"
    short = shape.total - room.pods
    more = (
        f"{math.ceil(short / room.pods_per_node)} more nodes like the largest of them would do"
        if room.pods_per_node
        else "none of them could take even one"
    )
    return (
        f"{shape} needs room for {shape.total:,} pods of {each} ({cpus:g} CPUs); "
        f"the {room.nodes} usable nodes have room for {room.pods:,}: {more}"
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
