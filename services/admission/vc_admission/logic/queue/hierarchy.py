"""A queue's place in the tree: the parent, the depth, and the sums along it.

Capability is a ceiling: each queue's own is compared with the nearest one above that names the
resource, and it is never summed. Guarantee and deserved are shares: those of all children together
fit in the parent's, and what the parent does not name counts as zero. Children of root are free,
because root is the cluster, whose size nobody writes down.
"""

from collections.abc import Iterator
from typing import Final

from vc_admission.logic.amounts import Amounts, excess, known_amounts, sum_amounts, text
from vc_admission.logic.findings import Findings
from vc_admission.logic.queue.shares import Shares, shares_of
from vc_admission.logic.world import World, parent_of
from vc_model.keys import ROOT_QUEUE
from vc_model.scheduling import Queue

LEVELS_MAX: Final = 64
"""Walks end here even if parents form a cycle."""

SUBTREE_MAX: Final = 10_000
"""Queues looked at below one queue."""


def check_place(found: Findings, queue: Queue, *, old: Queue | None, world: World) -> None:
    """The rules of the tree, as far as this change can break them."""
    moved = old is None or parent_of(old) != parent_of(queue)
    if moved and not _check_parent(found, queue, world=world):
        return
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
    """From the parent up, without root; ends at what is unknown."""
    name = parent_of(queue)
    for _ in range(LEVELS_MAX):
        above = world.queues.get(name)
        if above is None or name == ROOT_QUEUE:
            return
        yield above
        name = parent_of(above)


def _check_parent(found: Findings, queue: Queue, *, world: World) -> bool:
    """Whether the queue may hang where it wants to."""
    name, parent = queue.metadata.name, parent_of(queue)
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
    line = [above.metadata.name for above in ancestors(queue, world)]
    if name in line:
        found.refuse(
            "spec.parent", "lies below this queue, which makes a cycle; name another", value=parent
        )
        return False
    _check_depth(found, queue, above=len(line), world=world)
    _check_parent_is_idle(found, world.queues[parent], world=world)
    return True


def _check_depth(found: Findings, queue: Queue, *, above: int, world: World) -> None:
    depth = above + _height(queue.metadata.name, world)
    if depth > world.settings.queue_depth_max:
        found.refuse(
            "spec.parent",
            f"makes {depth} levels below root; at most {world.settings.queue_depth_max} are allowed",
            value=queue.spec.parent,
        )


def _height(name: str, world: World) -> int:
    """Levels of the queue and everything below it."""
    level, height = [name], 0
    while level and height < LEVELS_MAX:
        height += 1
        level = [child for parent in level for child in world.children.get(parent, ())]
    return height


def _check_parent_is_idle(found: Findings, parent: Queue, *, world: World) -> None:
    """A leaf that runs pods cannot become a parent: only leaves hold jobs."""
    if world.children.get(parent.metadata.name):
        return
    if known_amounts(parent.status.allocated).get("pods", 0):
        found.refuse(
            "spec.parent",
            "has pods of its own, and only leaf queues hold jobs; wait until they end",
            value=parent.metadata.name,
        )


def _check_above(found: Findings, queue: Queue, *, world: World) -> None:
    """Own capability against the nearest above; sums with the siblings against the parent."""
    parent = world.queues.get(parent_of(queue))
    if parent_of(queue) == ROOT_QUEUE or parent is None:
        return
    compat = world.settings.compat
    own = shares_of(queue, compat=compat)
    ceiling, owner = _ceiling(queue, world)
    for resource, wanted, limit in excess(
        {r: u for r, u in own.capability.items() if r in ceiling}, ceiling
    ):
        found.refuse(
            f"spec.capability[{resource}]",
            f"is more than the {text(resource, limit)} of queue {owner[resource]!r} above; lower it",
            value=text(resource, wanted),
        )
    name = parent.metadata.name
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


def _ceiling(queue: Queue, world: World) -> tuple[Amounts, dict[str, str]]:
    """Per resource the capability of the nearest ancestor that names it, and whose it is."""
    ceiling: Amounts = {}
    owner: dict[str, str] = {}
    for above in ancestors(queue, world):
        for resource, units in known_amounts(above.spec.capability).items():
            if resource not in ceiling:
                ceiling[resource], owner[resource] = units, above.metadata.name
    return ceiling, owner


def _check_sums(
    found: Findings, members: list[Shares], *, limits: Shares, whose: str, own: Shares | None
) -> None:
    """Σ guarantee and Σ deserved. With `own`, only resources it names can be its fault."""
    for field, path, total, limit, mine in (
        (
            "guarantee",
            "spec.guarantee.resource",
            sum_amounts([member.guarantee for member in members]),
            limits.guarantee,
            own.guarantee if own else None,
        ),
        (
            "deserved",
            "spec.deserved",
            sum_amounts([member.deserved for member in members]),
            limits.deserved,
            own.deserved if own else None,
        ),
    ):
        for resource, wanted, allowed in excess(total, limit):
            if mine is not None and not mine.get(resource):
                continue
            found.refuse(
                f"{path}[{resource}]",
                f"{whose} together have {field} {text(resource, wanted)}, more than the parent's "
                f"{text(resource, allowed)}; lower theirs or raise the parent's first",
            )


def _check_below(found: Findings, queue: Queue, *, moved: bool, world: World) -> None:
    """Own amounts must still hold what the children were promised.

    A queue that moves brings its children under new ceilings, also where it names none itself.
    """
    children = [world.queues[name] for name in world.children.get(queue.metadata.name, ())]
    if not children:
        return
    compat = world.settings.compat
    own = shares_of(queue, compat=compat)
    inherited = _ceiling(queue, world)[0] if moved else {}
    ceiling = {**inherited, **own.capability}
    for resource in sorted(ceiling):
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
    """Capability of each first queue on the way down that names the resource, and its name."""
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
