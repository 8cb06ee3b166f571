"""The tree of queues, from the top down.

Parents that do not exist and circles are taken as children of the root: every queue is visited
exactly once, whatever people have written.
"""

from collections.abc import Iterable

from vc_model.keys import ROOT_QUEUE
from vc_model.scheduling import Queue


def parent_of(queue: Queue) -> str:
    """Root's children need not say so."""
    if queue.metadata.name == ROOT_QUEUE:
        return ""
    return queue.spec.parent or ROOT_QUEUE


def top_down(queues: Iterable[Queue]) -> list[Queue]:
    """Every queue after its parent; siblings in the order of names."""
    by_name = {queue.metadata.name: queue for queue in queues}
    children: dict[str, list[str]] = {}
    for name in sorted(by_name):
        parent = parent_of(by_name[name])
        children.setdefault(parent if parent in by_name else "", []).append(name)
    ordered: list[Queue] = []
    placed: set[str] = set()
    for start in [*children.get("", []), *sorted(by_name)]:  # the rest are circles
        waiting = [start]
        while waiting:
            name = waiting.pop(0)
            if name in placed:
                continue
            placed.add(name)
            ordered.append(by_name[name])
            waiting += children.get(name, [])
    return ordered
