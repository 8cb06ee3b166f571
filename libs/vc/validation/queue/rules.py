"""Rules for the creation and change of one queue."""

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from vc.model.api.keys import HIERARCHY, HIERARCHY_WEIGHTS, ROOT_QUEUE
from vc.model.api.scheduling import Queue
from vc.model.compat import Compat
from vc.validation.amounts import known_amounts, read_amounts, text
from vc.validation.names import check_subdomain
from vc.validation.queue.hierarchy import check_place
from vc.validation.result import ValidationResult
from vc.validation.world import World

WEIGHT_MAX: Final = 65535
STRATEGIES: Final = ("fifo", "traverse")
WRITABLE_STATES: Final = ("", "Open", "Closed")
PODS: Final = "pods"
HIERARCHY_LEVELS_MAX: Final = 64


def check_queue(found: ValidationResult, queue: Queue, *, old: Queue | None, world: World) -> None:
    """Check a queue that is created, or changed from `old`."""
    check_subdomain(found, "metadata.name", queue.metadata.name)
    _check_fields(found, queue)
    _check_amounts(found, queue, compat=world.settings.compat)
    _check_state(found, queue, old=old)
    _check_annotations(found, queue, world=world)
    # Root has no parent, and its amounts are the cluster's.
    if queue.metadata.name == ROOT_QUEUE:
        if old is not None and world.settings.root_queue_protection:
            _check_root_unchanged(found, queue, old)
        return
    check_place(found, queue, old=old, world=world)


def _check_fields(found: ValidationResult, queue: Queue) -> None:
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


class _Pair(msgspec.Struct, frozen=True, kw_only=True):
    """An amount and its upper limit."""

    path: str
    amounts: Mapping[str, int]
    limit_path: str
    limit: Mapping[str, int]


def _check_amounts(found: ValidationResult, queue: Queue, *, compat: Compat) -> None:
    """Check guarantee ≤ deserved ≤ capability, for each resource."""
    spec = queue.spec
    capability = read_amounts(found, "spec.capability", spec.capability)
    deserved = read_amounts(found, "spec.deserved", spec.deserved)
    guarantee = read_amounts(found, "spec.guarantee.resource", spec.guarantee.resource)
    # Without deserved, the guarantee is limited by the capability directly.
    undeserved = {r: units for r, units in guarantee.items() if r not in deserved}
    # Volcano refuses a guarantee without deserved; in lenient mode it counts as deserved.
    if compat is Compat.UPSTREAM:
        for resource in sorted(undeserved):
            found.refuse(
                f"spec.guarantee.resource[{resource}]",
                f"needs spec.deserved[{resource}] of at least as much",
                value=text(resource, undeserved[resource]),
            )
    for path, amounts, limit_path, limit in (
        ("spec.guarantee.resource", guarantee, "spec.deserved", deserved),
        ("spec.guarantee.resource", undeserved, "spec.capability", capability),
        ("spec.deserved", deserved, "spec.capability", capability),
    ):
        _check_at_most(found, _Pair(path=path, amounts=amounts, limit_path=limit_path, limit=limit))


def _check_at_most(found: ValidationResult, pair: _Pair) -> None:
    for resource in sorted(pair.amounts):
        units, limit = pair.amounts[resource], pair.limit.get(resource)
        if limit is not None and units > limit:
            found.refuse(
                f"{pair.path}[{resource}]",
                f"is more than {pair.limit_path}[{resource}] {text(resource, limit)}; "
                "lower it or raise the other",
                value=text(resource, units),
            )


def _check_state(found: ValidationResult, queue: Queue, *, old: Queue | None) -> None:
    """Check the state. Only the controller writes Closing and Unknown,
    but a client may send them back."""
    state = queue.status.state
    # A client that sends back an unchanged status must not be refused.
    if state not in WRITABLE_STATES and (old is None or old.status.state != state):
        found.refuse("status.state", "must be Open or Closed", value=state)


def _check_annotations(found: ValidationResult, queue: Queue, *, world: World) -> None:
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
    found: ValidationResult, place: str, path: str, *, queue: Queue, world: World
) -> None:
    """A queue with queues below it contains no jobs, so its path must be a leaf."""
    # Sorted, so that the same refusal names the same queue each time.
    for name in sorted(world.queues):
        other = world.queues[name].metadata.annotations.get(HIERARCHY, "")
        if name != queue.metadata.name and other.startswith(f"{path}/"):
            found.refuse(
                place, f"lies above {other!r} of queue {name!r}; name a leaf path", value=path
            )
            return


def _check_root_unchanged(found: ValidationResult, queue: Queue, old: Queue) -> None:
    for field, now, before in (
        ("capability", queue.spec.capability, old.spec.capability),
        ("deserved", queue.spec.deserved, old.spec.deserved),
        ("guarantee", queue.spec.guarantee.resource, old.spec.guarantee.resource),
    ):
        if known_amounts(now) != known_amounts(before):
            found.refuse(
                f"spec.{field}", "of root is the cluster itself and may not be changed", value=now
            )
