"""The tree of queues, from the top down.

Queues with a missing parent or on a cycle are treated as children of the root. So every queue is
visited exactly once, whatever users wrote.
"""

from collections.abc import Iterable

from vc.model.api.keys import ROOT_QUEUE
from vc.model.api.scheduling import Queue


def parent_of(queue: Queue) -> str:
    """The parent of a queue. Without an explicit parent it is root."""
    if queue.metadata.name == ROOT_QUEUE:
        return ""
    return queue.spec.parent or ROOT_QUEUE


def top_down(queues: Iterable[Queue]) -> list[Queue]:
    """Every queue after its parent, siblings in the order of names."""
    by_name = {queue.metadata.name: queue for queue in queues}
    children: dict[str, list[str]] = {}
    for name in sorted(by_name):
        parent = parent_of(by_name[name])
        # A queue with a missing parent is visited from the top.
        children.setdefault(parent if parent in by_name else "", []).append(name)
    ordered: list[Queue] = []
    placed: set[str] = set()
    for start in [*children.get("", []), *sorted(by_name)]:  # the rest are cycles
        waiting = [start]
        while waiting:
            name = waiting.pop(0)
            if name in placed:
                continue
            placed.add(name)
            ordered.append(by_name[name])
            waiting += children.get(name, [])
    return ordered
