"""Rules of one queue: CREATE and UPDATE, and whether it may be deleted."""

import math
from typing import Final

from vc_admission.logic.amounts import Amounts, known_amounts, read_amounts, text
from vc_admission.logic.findings import Findings
from vc_admission.logic.names import check_subdomain
from vc_admission.logic.queue.hierarchy import check_place
from vc_admission.logic.queue_choice import CHILDREN_SHOWN_MAX
from vc_admission.logic.world import Compat, World
from vc_model.keys import DEFAULT_QUEUE, HIERARCHY, HIERARCHY_WEIGHTS, ROOT_QUEUE
from vc_model.scheduling import Queue

WEIGHT_MAX: Final = 65535
STRATEGIES: Final = ("fifo", "traverse")
WRITABLE_STATES: Final = ("", "Open", "Closed")
PODS: Final = "pods"
HIERARCHY_LEVELS_MAX: Final = 64


def check_queue(found: Findings, queue: Queue, *, old: Queue | None, world: World) -> None:
    """A queue that is created, or changed from `old`."""
    check_subdomain(found, "metadata.name", queue.metadata.name)
    _check_fields(found, queue)
    _check_amounts(found, queue, compat=world.settings.compat)
    _check_state(found, queue, old=old)
    _check_annotations(found, queue, world=world)
    if queue.metadata.name == ROOT_QUEUE:
        if old is not None and world.settings.root_queue_protection:
            _check_root_unchanged(found, queue, old)
        return
    check_place(found, queue, old=old, world=world)


def _check_fields(found: Findings, queue: Queue) -> None:
    spec = queue.spec
    if not 1 <= spec.weight <= WEIGHT_MAX:
        found.refuse("spec.weight", f"must be 1 to {WEIGHT_MAX}", value=spec.weight)
    if spec.priority < 0:
        found.refuse("spec.priority", "must be 0 or more", value=spec.priority)
    if spec.dequeue_strategy not in STRATEGIES:
        allowed = " or ".join(STRATEGIES)
        found.refuse("spec.dequeueStrategy", f"must be {allowed}", value=spec.dequeue_strategy)
    if spec.parent:
        check_subdomain(found, "spec.parent", spec.parent)


def _check_amounts(found: Findings, queue: Queue, *, compat: Compat) -> None:
    """guarantee ≤ deserved ≤ capability, resource by resource."""
    spec = queue.spec
    capability = read_amounts(found, "spec.capability", spec.capability)
    deserved = read_amounts(found, "spec.deserved", spec.deserved)
    guarantee = read_amounts(found, "spec.guarantee.resource", spec.guarantee.resource)
    for resource in sorted(guarantee):
        _check_guarantee(found, resource, guarantee[resource], deserved, compat=compat)
        if resource not in deserved:
            _at_most(
                found, "spec.guarantee.resource", "capability", resource, guarantee, capability
            )
    for resource in sorted(deserved):
        _at_most(found, "spec.deserved", "capability", resource, deserved, capability)


def _check_guarantee(
    found: Findings, resource: str, units: int, deserved: Amounts, *, compat: Compat
) -> None:
    path = f"spec.guarantee.resource[{resource}]"
    if resource not in deserved:
        if compat is Compat.UPSTREAM:
            found.refuse(
                path,
                f"needs spec.deserved[{resource}] of at least as much",
                value=text(resource, units),
            )
        return
    _at_most(found, "spec.guarantee.resource", "deserved", resource, {resource: units}, deserved)


def _at_most(
    found: Findings, path: str, limit_name: str, resource: str, wanted: Amounts, limit: Amounts
) -> None:
    if resource in limit and wanted[resource] > limit[resource]:
        found.refuse(
            f"{path}[{resource}]",
            f"is more than spec.{limit_name}[{resource}] {text(resource, limit[resource])}; "
            "lower it or raise the other",
            value=text(resource, wanted[resource]),
        )


def _check_state(found: Findings, queue: Queue, *, old: Queue | None) -> None:
    """Closing and Unknown are the controller's to say; what it said may stay."""
    state = queue.status.state
    if state not in WRITABLE_STATES and (old is None or old.status.state != state):
        found.refuse("status.state", "must be Open or Closed", value=state)


def _check_annotations(found: Findings, queue: Queue, *, world: World) -> None:
    annotations = queue.metadata.annotations
    path, weights = annotations.get(HIERARCHY, ""), annotations.get(HIERARCHY_WEIGHTS, "")
    if not path and not weights:
        return
    place = f"metadata.annotations[{HIERARCHY}]"
    levels, numbers = path.split("/"), weights.split("/")
    if len(levels) != len(numbers):
        found.refuse(
            place,
            f"has {len(levels)} levels but {HIERARCHY_WEIGHTS} has {len(numbers)}; "
            "write one weight per level",
            value=path,
        )
    if len(levels) > HIERARCHY_LEVELS_MAX:
        found.refuse(place, f"has more than {HIERARCHY_LEVELS_MAX} levels")
    for number in numbers[:HIERARCHY_LEVELS_MAX]:
        if not _positive(number):
            found.refuse(
                f"metadata.annotations[{HIERARCHY_WEIGHTS}]",
                "each weight must be a number above 0",
                value=number,
            )
    _check_no_ancestor(found, place, path, queue=queue, world=world)


def _positive(number: str) -> bool:
    try:
        value = float(number)
    except ValueError:
        return False
    return math.isfinite(value) and value > 0


def _check_no_ancestor(
    found: Findings, place: str, path: str, *, queue: Queue, world: World
) -> None:
    """A queue that others lie below holds no jobs, so it cannot be a queue of its own."""
    for name in sorted(world.queues):
        other = world.queues[name].metadata.annotations.get(HIERARCHY, "")
        if name != queue.metadata.name and other.startswith(f"{path}/"):
            found.refuse(
                place, f"lies above {other!r} of queue {name!r}; name a leaf path", value=path
            )
            return


def _check_root_unchanged(found: Findings, queue: Queue, old: Queue) -> None:
    for field, now, before in (
        ("capability", queue.spec.capability, old.spec.capability),
        ("deserved", queue.spec.deserved, old.spec.deserved),
        ("guarantee", queue.spec.guarantee.resource, old.spec.guarantee.resource),
    ):
        if known_amounts(now) != known_amounts(before):
            found.refuse(
                f"spec.{field}", "of root is the cluster itself and may not be changed", value=now
            )


def check_queue_delete(found: Findings, name: str, *, old: Queue | None, world: World) -> None:
    """Whether the queue may go."""
    if name in (DEFAULT_QUEUE, ROOT_QUEUE):
        found.refuse(
            "metadata.name", "this queue is always there; it may not be deleted", value=name
        )
        return
    children = world.children.get(name, ())
    if children:
        shown = ", ".join(children[:CHILDREN_SHOWN_MAX])
        found.refuse(
            "metadata.name", f"has {len(children)} child queues; delete first: {shown}", value=name
        )
    queue = old or world.queues.get(name)
    if world.settings.allocated_pods_check and queue is not None and allocated_pods(queue):
        found.refuse(
            "status.allocated[pods]", "pods of this queue run; wait or delete its jobs", value=name
        )


def allocated_pods(queue: Queue) -> int:
    """In thousandths, as all counts."""
    return known_amounts(queue.status.allocated).get(PODS, 0)
