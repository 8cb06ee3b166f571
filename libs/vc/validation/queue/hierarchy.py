"""The position of a queue in the tree: the parent, the depth, and the sums.

Capability is an upper limit: that of each queue is compared with the nearest ancestor that names
the resource, and it is never summed. Guarantee and deserved are shares: the sum over all children
must fit in the parent's, and a resource that the parent does not name counts as zero. Children of
root are not limited, because root is the cluster, whose size is not written in an object.
"""

from collections.abc import Iterator
from typing import Final

from vc.model.api.keys import ROOT_QUEUE
from vc.model.api.scheduling import Queue
from vc.model.values.resources import Resources
from vc.validation.amounts import excess, known_amounts, text
from vc.validation.queue.shares import WrittenShares, shares_of
from vc.validation.result import ValidationResult
from vc.validation.world import World, parent_of

LEVELS_MAX: Final = 64
"""Limit of walks along parents, in case these form a cycle."""

SUBTREE_MAX: Final = 10_000
"""Limit of queues that are visited below one queue."""


def check_place(found: ValidationResult, queue: Queue, *, old: Queue | None, world: World) -> None:
    """Check the rules of the tree that this change can break."""
    moved = old is None or parent_of(old) != parent_of(queue)
    # Without a valid parent, sums along the tree have no meaning.
    if moved and not _check_parent(found, queue, world=world):
        return
    # Rules of the tree cannot be broken by changes of other fields.
    if moved or _resources_changed(queue, old):
        _check_above(found, queue, world=world)
        _check_below(found, queue, moved=moved, world=world)


def _resources_changed(queue: Queue, old: Queue | None) -> bool:
    return old is None or any(
        known_amounts(now) != known_amounts(before)
        for now, before in (
            (queue.spec.capability, old.spec.capability),
            (queue.spec.deserved, old.spec.deserved),
            (queue.spec.guarantee.resource, old.spec.guarantee.resource),
        )
    )


def ancestors(queue: Queue, world: World) -> Iterator[Queue]:
    """The ancestors from the parent up, without root. The walk ends at an unknown queue."""
    name = parent_of(queue)
    for _ in range(LEVELS_MAX):
        above = world.queues.get(name)
        if above is None or name == ROOT_QUEUE:
            return
        yield above
        name = parent_of(above)


def _check_parent(found: ValidationResult, queue: Queue, *, world: World) -> bool:
    """Check the parent. Returns whether the queue can be placed below it."""
    name, parent = queue.metadata.name, parent_of(queue)
    # Root always exists for the tree, even if its object is not created yet.
    if parent == ROOT_QUEUE:
        return True
    if parent == name:
        found.refuse("spec.parent", "a queue cannot be its own parent; name another", value=parent)
        return False
    if parent not in world.queues:
        if world.complete:
            found.refuse("spec.parent", "there is no such queue; create it first", value=parent)
        else:
            found.warn("spec.parent", f"queue {parent!r} is not in the files; it was not checked")
        return False
    above_names = [above.metadata.name for above in ancestors(queue, world)]
    # The queue must not become its own ancestor.
    if name in above_names:
        found.refuse(
            "spec.parent", "lies below this queue, which makes a cycle; name another", value=parent
        )
        return False
    _check_depth(found, queue, above=len(above_names), world=world)
    _check_parent_is_idle(found, world.queues[parent], world=world)
    return True


def _check_depth(found: ValidationResult, queue: Queue, *, above: int, world: World) -> None:
    # A moved queue brings its subtree along, so the height counts too.
    depth = above + _height(queue.metadata.name, world)
    if depth > world.settings.queue_depth_max:
        found.refuse(
            "spec.parent",
            f"makes {depth} levels below root; at most {world.settings.queue_depth_max} are allowed",
            value=queue.spec.parent,
        )


def _height(name: str, world: World) -> int:
    """Number of levels of the queue and everything below it."""
    level, height = [name], 0
    while level and height < LEVELS_MAX:
        height += 1
        level = [child for parent in level for child in world.children.get(parent, ())]
    return height


def _check_parent_is_idle(found: ValidationResult, parent: Queue, *, world: World) -> None:
    """A leaf with running pods cannot become a parent, because only leaves contain jobs."""
    if world.children.get(parent.metadata.name):
        return
    if known_amounts(parent.status.allocated).get("pods", 0):
        found.refuse(
            "spec.parent",
            "has pods of its own, and only leaf queues hold jobs; wait until they end",
            value=parent.metadata.name,
        )


def _check_above(found: ValidationResult, queue: Queue, *, world: World) -> None:
    """Compare the capability with the nearest ancestor, and sums over siblings with the parent."""
    parent = world.queues.get(parent_of(queue))
    if parent_of(queue) == ROOT_QUEUE or parent is None:
        return
    compat = world.settings.compat
    own = shares_of(queue, compat=compat)
    ceiling, owner = _ceiling(queue, world)
    # Only resources that an ancestor limits are compared.
    for resource, wanted, limit in excess(own.capability.only(ceiling), ceiling):
        found.refuse(
            f"spec.capability[{resource}]",
            f"is more than the {text(resource, limit)} of queue {owner[resource]!r} above; lower it",
            value=text(resource, wanted),
        )
    name = parent.metadata.name
    # The stored version of this queue is replaced by the new one in the sum.
    siblings = [
        shares_of(world.queues[child], compat=compat)
        for child in world.children.get(name, ())
        if child != queue.metadata.name
    ]
    _check_sums(
        found,
        [*siblings, own],
        limits=shares_of(parent, compat=compat),
        whose=f"the children of queue {name!r}",
        own=own,
    )


def _ceiling(queue: Queue, world: World) -> tuple[Resources, dict[str, str]]:
    """Per resource, the capability of the nearest ancestor that names it, and that ancestor."""
    ceiling = Resources()
    owner: dict[str, str] = {}
    for above in ancestors(queue, world):
        for resource, units in known_amounts(above.spec.capability).items():
            if resource not in ceiling:
                ceiling[resource], owner[resource] = units, above.metadata.name
    return ceiling, owner


def _check_sums(
    found: ValidationResult,
    members: list[WrittenShares],
    *,
    limits: WrittenShares,
    whose: str,
    own: WrittenShares | None,
) -> None:
    """Check the sums of guarantee and deserved. With `own`, only
    resources that it names are reported."""
    for field, path, total, limit, mine in (
        (
            "guarantee",
            "spec.guarantee.resource",
            Resources.total(member.guarantee for member in members),
            limits.guarantee,
            own.guarantee if own else None,
        ),
        (
            "deserved",
            "spec.deserved",
            Resources.total(member.deserved for member in members),
            limits.deserved,
            own.deserved if own else None,
        ),
    ):
        for resource, wanted, allowed in excess(total, limit):
            # An excess that existed before must not block a change that does not add to it.
            if mine is not None and not mine.get(resource):
                continue
            found.refuse(
                f"{path}[{resource}]",
                f"{whose} together have {field} {text(resource, wanted)}, more than the parent's "
                f"{text(resource, allowed)}; lower theirs or raise the parent's first",
            )


def _check_below(found: ValidationResult, queue: Queue, *, moved: bool, world: World) -> None:
    """Check that the amounts of a queue still cover those of its children.

    A moved queue brings its children under new upper limits, also where it names none itself.
    """
    children = [world.queues[name] for name in world.children.get(queue.metadata.name, ())]
    if not children:
        return
    compat = world.settings.compat
    own = shares_of(queue, compat=compat)
    # Without a move, the ceilings above were checked for the children before.
    inherited = _ceiling(queue, world)[0] if moved else {}
    ceiling = {**inherited, **own.capability}
    for resource in sorted(ceiling):
        # Below a queue that names the resource, its own capability is the limit.
        for units, name in _highest_below(queue.metadata.name, resource, world):
            if units > ceiling[resource]:
                found.refuse(
                    f"spec.capability[{resource}]",
                    f"is less than the {text(resource, units)} of queue {name!r} below; "
                    "raise it or lower that one first",
                    value=text(resource, ceiling[resource]),
                )
    members = [shares_of(child, compat=compat) for child in children]
    _check_sums(found, members, limits=own, whose="the children of this queue", own=None)


def _highest_below(name: str, resource: str, world: World) -> Iterator[tuple[int, str]]:
    """The capability and name of the first queue on each way down that names the resource."""
    waiting = list(reversed(world.children.get(name, ())))
    for _ in range(SUBTREE_MAX):
        if not waiting:
            return
        child = waiting.pop()
        amounts = known_amounts(world.queues[child].spec.capability)
        if resource in amounts:
            yield amounts[resource], child
        else:
            waiting.extend(reversed(world.children.get(child, ())))
