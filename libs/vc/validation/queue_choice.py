"""Which queue an object may use: one that exists, is open, and is a leaf.

An empty state counts as Open: the queue-controller has not processed the queue yet, and one file
with a queue and a job for it must be applicable at once.
"""

from typing import Final

from vc.model.api.keys import ROOT_QUEUE
from vc.validation.result import ValidationResult
from vc.validation.world import World

OPEN: Final = "Open"
CHILDREN_SHOWN_MAX: Final = 5


def state_of(world: World, name: str) -> str:
    """The state of a queue, or empty if the queue is unknown."""
    queue = world.queues.get(name)
    return (queue.status.state or OPEN) if queue is not None else ""


def check_queue_open(
    found: ValidationResult, path: str, name: str, *, world: World, submitted: str = "PodGroup"
) -> bool:
    """Refuse a queue that is unknown or not open. Returns whether the queue is open."""
    if name not in world.queues:
        # Offline only the objects of the files are known, which is no error of the job.
        if world.complete:
            found.refuse(
                path,
                "there is no such queue; create it first",
                value=name,
                upstream=f'unable to find job queue: queues.scheduling.volcano.sh "{name}" not found',
            )
        else:
            found.warn(path, f"queue {name!r} is not in the files, so it was not checked")
        return False
    state = state_of(world, name)
    if state != OPEN:
        found.refuse(
            path,
            f"the queue is {state} and takes no new jobs; open it with "
            f"'vcctl queue operate -n {name} -a open' or name another queue",
            value=name,
            upstream=f"can only submit {submitted} to queue with state `Open`, "
            f"queue `{name}` status is `{state}`",
        )
    return state == OPEN


def check_queue_takes_jobs(found: ValidationResult, path: str, name: str, *, world: World) -> None:
    """Refuse a queue that cannot contain jobs itself."""
    if name == ROOT_QUEUE:
        found.refuse(
            path,
            "root takes no jobs; name a leaf queue below it",
            value=name,
            upstream="can not submit job to root queue",
        )
        return
    children = world.children.get(name, ())
    # A parent queue has no jobs of its own, so its children are named as alternatives.
    if check_queue_open(found, path, name, world=world, submitted="job") and children:
        shown = ", ".join(children[:CHILDREN_SHOWN_MAX])
        found.refuse(
            path,
            f"the queue has child queues and only leaf queues take jobs; name one of: {shown}",
            value=name,
            upstream=f"can only submit job to leaf queue, queue `{name}` has {len(children)} child queues",
        )
