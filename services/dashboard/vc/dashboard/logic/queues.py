"""The tree of queues, depth first, with the resources of each."""

from typing import Final

from vc.dashboard.logic.amounts import Resources, shown
from vc.dashboard.logic.answers.shapes import QueueRow, QueueTree
from vc.dashboard.logic.cluster_index import ClusterIndex, capacity, used_by_queue, waiting_by_queue
from vc.dashboard.logic.shares import SharesAndOrder
from vc.model.api.keys import ROOT_QUEUE
from vc.model.api.scheduling import Queue
from vc.model.api.struct import ResourceList

MISSING: Final = "Missing"
"""State of a queue that does not exist while pods on nodes name it."""


def parent_of(queue: Queue) -> str:
    """The parent of a queue. Every queue except root has one."""
    return "" if queue.metadata.name == ROOT_QUEUE else queue.spec.parent or ROOT_QUEUE


def depth_first(queues: dict[str, Queue]) -> list[tuple[str, int]]:
    """Names with their depth, each after its parent.

    A queue whose parent is missing is at the top. A queue on a cycle
    comes last, so none is left out.
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


def used_with_below(cluster_index: ClusterIndex) -> dict[str, Resources]:
    """Resources of each queue including its children."""
    return with_below(cluster_index, used_by_queue(cluster_index))


def missing_queues(cluster_index: ClusterIndex) -> list[str]:
    """Queues that do not exist and have pods on nodes, by name."""
    return sorted(name for name in used_by_queue(cluster_index) if name not in cluster_index.queues)


def with_below(cluster_index: ClusterIndex, own: dict[str, Resources]) -> dict[str, Resources]:
    """Amounts of each queue including its children."""
    total: dict[str, Resources] = {
        name: Resources(own.get(name, {})) for name in cluster_index.queues
    }
    if ROOT_QUEUE in total:  # root counts the pods of queues that do not exist
        for name in missing_queues(cluster_index):
            total[ROOT_QUEUE].add(own.get(name, {}))
    # Children come after their parents in this order, so the reverse sums from the bottom.
    for name, depth in reversed(depth_first(cluster_index.queues)):
        parent = parent_of(cluster_index.queues[name])
        if depth and parent in total:
            total[parent].add(total[name])
    return total


def queue_tree(
    cluster_index: ClusterIndex, *, limit: int, stale: str, shares: SharesAndOrder | None = None
) -> QueueTree:
    """The tree, cut after `limit` queues."""
    shares = shares or SharesAndOrder()
    used = used_with_below(cluster_index)
    requested = with_below(cluster_index, waiting_by_queue(cluster_index))
    # Requested includes what is used already.
    for name, amounts in requested.items():
        amounts.add(used[name])
    order = depth_first(cluster_index.queues)
    children: dict[str, list[str]] = {}
    for name in sorted(cluster_index.queues):
        children.setdefault(parent_of(cluster_index.queues[name]), []).append(name)
    rows = [
        _row(
            cluster_index.queues[name],
            used=used[name],
            requested=requested[name],
            depth=depth,
            children=children.get(name, []),
            deserved=_deserved(cluster_index.queues[name], shares),
        )
        for name, depth in order[:limit]
    ]
    rows += _missing(cluster_index)[: max(0, limit - len(rows))]
    return QueueTree(
        queues=rows,
        total=len(order) + len(missing_queues(cluster_index)),
        capacity=shown(capacity(cluster_index)),
        basis=shares.basis,
        stale=stale,
    )


def _missing(cluster_index: ClusterIndex) -> list[QueueRow]:
    """A row for each queue that was deleted while it had pods."""
    used = used_by_queue(cluster_index)
    return [
        QueueRow(
            name=name,
            parent=ROOT_QUEUE if ROOT_QUEUE in cluster_index.queues else "",
            depth=1 if ROOT_QUEUE in cluster_index.queues else 0,
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
        for name in missing_queues(cluster_index)
    ]


def _deserved(queue: Queue, shares: SharesAndOrder) -> ResourceList:
    """Deserved as computed, and as written for resources that are not computed."""
    counted = shares.queues.get(queue.metadata.name)
    return {**queue.spec.deserved, **(shown(counted.deserved) if counted is not None else {})}


def _row(
    queue: Queue,
    *,
    used: Resources,
    requested: Resources,
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
