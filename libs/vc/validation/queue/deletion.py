"""Whether a queue may be deleted.

Deleting a queue in use leaves pods that belong to no queue: they keep their nodes, count for
`root`, and their jobs get no further pods. So it is refused, unless an annotation of the queue
permits it. Unfinished PodGroups were counted live for the request (`lookups.py`), and
`status.allocated` is the scheduler's count: the first is never late, and the second also includes
pods whose PodGroup is gone. Volcano checks only allocated pods, and only if its switch is on.
"""

from typing import Final

from vc.model.api.keys import ALLOW_DELETE, DEFAULT_QUEUE, ROOT_QUEUE
from vc.model.api.scheduling import Queue
from vc.model.compat import Compat
from vc.validation.amounts import known_amounts
from vc.validation.queue_choice import CHILDREN_SHOWN_MAX
from vc.validation.result import ValidationResult
from vc.validation.world import World

PODS: Final = "pods"
_MILLI: Final = 1000


def check_queue_delete(
    found: ValidationResult, name: str, *, old: Queue | None, world: World
) -> None:
    """Check whether the queue may be deleted."""
    # The queue-controller would create these two again at once.
    if name in (DEFAULT_QUEUE, ROOT_QUEUE):
        found.refuse(
            "metadata.name",
            "this queue is always there; it may not be deleted",
            value=name,
            upstream=f"`{name}` queue can not be deleted",
        )
        return
    children = world.children.get(name, ())
    if children:
        shown = ", ".join(children[:CHILDREN_SHOWN_MAX])
        found.refuse(
            "metadata.name", f"has {len(children)} child queues; delete first: {shown}", value=name
        )
    queue = old or world.queues.get(name)
    if queue is not None and world.settings.protects_queues_in_use:
        _check_unused(found, queue, world=world)


def _check_unused(found: ValidationResult, queue: Queue, *, world: World) -> None:
    name = queue.metadata.name
    pods = allocated_pods(queue)
    groups = world.unfinished_groups.get(name)
    forced = queue.metadata.annotations.get(ALLOW_DELETE, "")
    # The annotation is an explicit decision, so only a warning is left.
    if forced == "true":
        if pods or groups:
            found.warn(
                "metadata.name",
                f"{_in_use(groups or 0, pods)} stay without a queue: their pods keep their nodes and "
                "count for root, and their jobs get no more pods",
            )
        return
    # An unknown count must not permit a deletion that cannot be undone.
    if groups is None:
        found.refuse("metadata.name", "its pod groups could not be counted; try again", value=name)
    # Volcano counts only allocated pods, so unfinished PodGroups are a warning in upstream mode.
    elif pods or (groups and world.settings.compat is Compat.LENIENT):
        found.refuse(
            "metadata.name",
            f"this queue has {_in_use(groups, pods)}; wait for its jobs or delete them, or delete it "
            f'all the same: vcctl queue delete --force {name} (annotation {ALLOW_DELETE}: "true")'
            + (f"; {ALLOW_DELETE} is {forced[:16]!r}" if forced else ""),
            value=name,
        )
    elif groups:
        found.warn("metadata.name", f"{_in_use(groups, pods)} wait until the queue exists again")


def _in_use(groups: int, pods: int) -> str:
    return f"{groups} unfinished pod groups and {pods} allocated pods"


def allocated_pods(queue: Queue) -> int:
    """Allocated pods, as the scheduler counted them last."""
    return known_amounts(queue.status.allocated).get(PODS, 0) // _MILLI
