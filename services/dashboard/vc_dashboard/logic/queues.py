"""The tree of queues, depth first, with what each holds."""

from typing import Final

from vc_dashboard.logic.amounts import Amounts, add, shown
from vc_dashboard.logic.answers import QueueRow, QueueTree
from vc_dashboard.logic.picture import Picture, capacity, used_by_queue, waiting_by_queue
from vc_dashboard.logic.standing import Standing
from vc_model.keys import ROOT_QUEUE
from vc_model.scheduling import Queue
from vc_model.struct import ResourceList

MISSING: Final = "Missing"
"""The state shown of a queue that does not exist while pods on nodes name it."""


def parent_of(queue: Queue) -> str:
    """The queue above; every queue but root has one."""
    return "" if queue.metadata.name == ROOT_QUEUE else queue.spec.parent or ROOT_QUEUE


def depth_first(queues: dict[str, Queue]) -> list[tuple[str, int]]:
    """Names with their depth, each after its parent.

    A queue whose parent is missing stands at the top; one on a cycle comes last, so nobody is lost.
    """
    children: dict[str, list[str]] = {}
    for name in sorted(queues):
        parent = parent_of(queues[name])
        children.setdefault(parent if parent in queues else "", []).append(name)
    order: list[tuple[str, int]] = []
    waiting = [(name, 0) for name in reversed(children.get("", []))]
    placed: set[str] = set()
    while waiting:
        name, depth = waiting.pop()
        if name in placed:  # a queue without a name is its own parent
            continue
        placed.add(name)
        order.append((name, depth))
        waiting.extend((child, depth + 1) for child in reversed(children.get(name, [])))
    return order + [(name, 0) for name in sorted(queues) if name not in placed]


def used_with_below(picture: Picture) -> dict[str, Amounts]:
    """What each queue and those below it hold."""
    return with_below(picture, used_by_queue(picture))


def missing_queues(picture: Picture) -> list[str]:
    """Queues that do not exist and have pods on nodes, by name."""
    return sorted(name for name in used_by_queue(picture) if name not in picture.queues)


def with_below(picture: Picture, own: dict[str, Amounts]) -> dict[str, Amounts]:
    """Amounts of each queue together with those below it."""
    total: dict[str, Amounts] = {name: dict(own.get(name, {})) for name in picture.queues}
    if ROOT_QUEUE in total:  # has what names a queue that does not exist
        for name in missing_queues(picture):
            add(total[ROOT_QUEUE], own.get(name, {}))
    for name, depth in reversed(depth_first(picture.queues)):
        parent = parent_of(picture.queues[name])
        if depth and parent in total:
            add(total[parent], total[name])
    return total


def queue_tree(
    picture: Picture, *, limit: int, stale: str, standing: Standing | None = None
) -> QueueTree:
    """The tree, cut after `limit` queues."""
    standing = standing or Standing()
    used = used_with_below(picture)
    requested = with_below(picture, waiting_by_queue(picture))
    for name, amounts in requested.items():
        add(amounts, used[name])
    order = depth_first(picture.queues)
    children: dict[str, list[str]] = {}
    for name in sorted(picture.queues):
        children.setdefault(parent_of(picture.queues[name]), []).append(name)
    rows = [
        _row(
            picture.queues[name],
            used=used[name],
            requested=requested[name],
            depth=depth,
            children=children.get(name, []),
            deserved=_deserved(picture.queues[name], standing),
        )
        for name, depth in order[:limit]
    ]
    rows += _missing(picture)[: max(0, limit - len(rows))]
    return QueueTree(
        queues=rows,
        total=len(order) + len(missing_queues(picture)),
        capacity=shown(capacity(picture)),
        basis=standing.basis,
        stale=stale,
    )


def _missing(picture: Picture) -> list[QueueRow]:
    """A row for each queue that was deleted under its pods."""
    used = used_by_queue(picture)
    return [
        QueueRow(
            name=name,
            parent=ROOT_QUEUE if ROOT_QUEUE in picture.queues else "",
            depth=1 if ROOT_QUEUE in picture.queues else 0,
            children=[],
            state=MISSING,
            weight=0,
            priority=0,
            capability={},
            guarantee={},
            deserved={},
            deserved_written={},
            allocated={},
            used=shown(used[name]),
            requested=shown(used[name]),
            pending=0,
            inqueue=0,
            running=0,
        )
        for name in missing_queues(picture)
    ]


def _deserved(queue: Queue, standing: Standing) -> ResourceList:
    """As counted, and what is written of resources that nobody counts."""
    counted = standing.queues.get(queue.metadata.name)
    return {**queue.spec.deserved, **(shown(counted.deserved) if counted is not None else {})}


def _row(
    queue: Queue,
    *,
    used: Amounts,
    requested: Amounts,
    depth: int,
    children: list[str],
    deserved: ResourceList,
) -> QueueRow:
    spec, status = queue.spec, queue.status
    return QueueRow(
        name=queue.metadata.name,
        parent=parent_of(queue),
        depth=depth,
        children=children,
        state=status.state or "Open",
        weight=spec.weight,
        priority=spec.priority,
        capability=spec.capability,
        guarantee=spec.guarantee.resource,
        deserved=deserved,
        deserved_written=spec.deserved,
        allocated=status.allocated,
        used=shown(used),
        requested=shown(requested),
        pending=status.pending,
        inqueue=status.inqueue,
        running=status.running,
    )
