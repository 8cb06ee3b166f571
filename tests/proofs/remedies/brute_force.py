"""Every single remedy at its extreme, without the search's own candidates: the check of "none known".

Where the search finds no remedy, none of these may start the job. Each is as strong as its kind can be:
plenty of nodes that match whatever the job asks for, no limit at all in one queue, the highest priority, the
smallest request and gang, another job gone. So nothing weaker of the same kind can start it either.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from tests.unit.scheduling.objects import node, priority_class
from tests.unit.scheduling.world import World
from vc.model.api import kinds
from vc.model.api.keys import GROUP_NAME
from vc.model.api.kubernetes import ResourceQuota
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue

Change = Callable[[World], None]

NODES: Final = 64
HIGHEST: Final = 1_000_000_000


def single_remedies(world: World, group: PodGroup) -> Iterator[tuple[str, Change]]:
    """By name, each to be applied to a world of its own."""
    yield "nodes", lambda changed: _add_nodes(changed, group)
    for queue in (o for o in world.objects() if isinstance(o, Queue)):
        yield f"quota of queue {queue.key}", _unlimited(queue)
    for quota in (o for o in world.objects() if isinstance(o, ResourceQuota)):
        yield f"quota {quota.key}", _without(quota)
    yield "priority", lambda changed: _raise_priority(changed, group)
    yield "smaller request", lambda changed: _shrink(changed, group)
    others = sorted({group_of(pod) for pod in world.pods()} - {group.metadata.name, ""})
    for other in others:
        yield f"end of {other}", _ended((other,))
    yield "end of all others", _ended(tuple(others))


def group_of(pod: Pod) -> str:
    return pod.metadata.annotations.get(GROUP_NAME, "")


def _members(world: World, group: PodGroup) -> list[Pod]:
    return [pod for pod in world.pods() if group_of(pod) == group.metadata.name]


def _add_nodes(world: World, group: PodGroup) -> None:
    """With every label that a node or a selector of the job has."""
    labels: dict[str, str] = {}
    for known in world.objects():
        if isinstance(known, Node):
            labels |= known.metadata.labels
    for pod in _members(world, group):
        labels |= pod.spec.node_selector
    world.put(
        *(node(f"new-{n}", cpu=1000, memory="4000Gi", gpu=64, labels=labels) for n in range(NODES))
    )


def _unlimited(queue: Queue) -> Change:
    spec = msgspec.structs.replace(queue.spec, capability={})
    return lambda world: world.put(msgspec.structs.replace(queue, spec=spec))


def _without(quota: ResourceQuota) -> Change:
    return lambda world: world.delete(kinds.QUOTAS, quota.key)


def _raise_priority(world: World, group: PodGroup) -> None:
    world.put(priority_class("highest", HIGHEST))
    spec = msgspec.structs.replace(group.spec, priority_class_name="highest")
    world.put(msgspec.structs.replace(world.group(group.metadata.name), spec=spec))
    for pod in _members(world, group):
        changed = msgspec.structs.replace(pod.spec, priority_class_name="highest", priority=HIGHEST)
        world.put(msgspec.structs.replace(pod, spec=changed))


def _shrink(world: World, group: PodGroup) -> None:
    least: dict[str, str | int | float] = {"cpu": "1m"}
    spec = msgspec.structs.replace(
        group.spec, min_member=1, min_task_member={}, min_resources=least
    )
    world.put(msgspec.structs.replace(world.group(group.metadata.name), spec=spec))
    for pod in _members(world, group):
        if not pod.spec.node_name:
            containers = [
                msgspec.structs.replace(
                    container,
                    resources=msgspec.structs.replace(
                        container.resources, requests=least, limits={}
                    ),
                )
                for container in pod.spec.containers
            ]
            shrunk = msgspec.structs.replace(pod.spec, containers=containers)
            world.put(msgspec.structs.replace(pod, spec=shrunk))


def _ended(names: tuple[str, ...]) -> Change:
    def end(world: World) -> None:
        for pod in world.pods():
            if group_of(pod) in names:
                world.delete(kinds.PODS, pod.key)
        for name in names:
            world.delete(kinds.PODGROUPS, f"ns/{name}")

    return end
