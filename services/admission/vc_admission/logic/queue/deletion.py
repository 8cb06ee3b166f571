"""Whether a queue may be deleted.

A queue that is deleted while it is in use leaves pods that belong to no queue: they hold nodes, `root`
bears what they have, and their jobs get no further pods. So it is refused, unless the queue's own
annotation says otherwise. Unfinished pod groups were counted live for the request (`lookups.py`), and
`status.allocated` is the scheduler's count: the first is never late, and the second also counts pods whose
pod group is gone. Volcano looks at allocated pods only, and only where its switch is on.
"""

from typing import Final

from vc_admission.logic.amounts import known_amounts
from vc_admission.logic.findings import Findings
from vc_admission.logic.queue_choice import CHILDREN_SHOWN_MAX
from vc_admission.logic.world import World
from vc_model.compat import Compat
from vc_model.keys import ALLOW_DELETE, DEFAULT_QUEUE, ROOT_QUEUE
from vc_model.scheduling import Queue

PODS: Final = "pods"
_MILLI: Final = 1000


def check_queue_delete(found: Findings, name: str, *, old: Queue | None, world: World) -> None:
    """Whether the queue may go."""
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


def _check_unused(found: Findings, queue: Queue, *, world: World) -> None:
    name = queue.metadata.name
    pods = allocated_pods(queue)
    groups = world.unfinished_groups.get(name)
    forced = queue.metadata.annotations.get(ALLOW_DELETE, "")
    if forced == "true":
        if pods or groups:
            found.warn(
                "metadata.name",
                f"{_in_use(groups or 0, pods)} stay without a queue: their pods keep their nodes and "
                "count for root, and their jobs get no more pods",
            )
        return
    if groups is None:
        found.refuse("metadata.name", "its pod groups could not be counted; try again", value=name)
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
    """As the scheduler counted them last."""
    return known_amounts(queue.status.allocated).get(PODS, 0) // _MILLI
