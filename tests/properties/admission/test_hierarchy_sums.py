"""A tree that was admitted queue by queue never promises more than its parents have."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.admission.objects import ask, queue, read_queue, world
from vc.model.api.keys import ROOT_QUEUE
from vc.model.api.scheduling import Queue
from vc.model.compat import Compat
from vc.validation.queue.shares import shares_of
from vc.validation.world import World, parent_of

NAMES = ("a", "b", "c", "d", "e")
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 6), max_size=2)
WRITES = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(["", "root", *NAMES]),
        AMOUNTS,
        AMOUNTS,
        AMOUNTS,
    ),
    max_size=25,
)


def write(known: World, name: str, parent: str, **amounts: Any) -> World:
    """Ask admission; only what is allowed happens."""
    raw = queue(
        name,
        parent=parent,
        capability=amounts["capability"],
        deserved=amounts["deserved"],
        guarantee={"resource": amounts["guarantee"]},
    )
    old = known.queues.get(name)
    response = ask(
        "/queues/validate",
        raw,
        known,
        old=raw_of(old) if old else None,
        operation="UPDATE" if old else "CREATE",
    )
    return known.with_queues([read_queue(raw)]) if response.allowed else known


def raw_of(known: Queue) -> Any:
    return queue(
        known.metadata.name,
        parent=known.spec.parent,
        capability=dict(known.spec.capability),
        deserved=dict(known.spec.deserved),
        guarantee={"resource": dict(known.spec.guarantee.resource)},
    )


def assert_sound(known: World, compat: Compat) -> None:
    for name, found in known.queues.items():
        shares = shares_of(found, compat=compat)
        for resource in RESOURCES:
            if resource in shares.deserved and resource in shares.capability:
                assert shares.deserved[resource] <= shares.capability[resource]
            assert shares.guarantee.get(resource, 0) <= shares.deserved.get(resource, 0)
        children = [known.queues[child] for child in known.children.get(name, ())]
        if name == ROOT_QUEUE:
            continue
        for resource in RESOURCES:
            of = [shares_of(child, compat=compat) for child in children]
            assert sum(c.guarantee.get(resource, 0) for c in of) <= shares.guarantee.get(
                resource, 0
            )
            assert sum(c.deserved.get(resource, 0) for c in of) <= shares.deserved.get(resource, 0)
        assert_below_ceilings(known, found, compat)
        assert depth(known, found) <= 5


def assert_below_ceilings(known: World, found: Queue, compat: Compat) -> None:
    own = shares_of(found, compat=compat).capability
    for resource, units in own.items():
        above: Queue | None = known.queues.get(parent_of(found))
        while above is not None and above.metadata.name != ROOT_QUEUE:
            limit = shares_of(above, compat=compat).capability.get(resource)
            if limit is not None:
                assert units <= limit
                break
            above = known.queues.get(parent_of(above))


def depth(known: World, found: Queue) -> int:
    """Fails on a cycle, because it never ends below the bound."""
    levels, name = 1, parent_of(found)
    while name != ROOT_QUEUE:
        levels, name = levels + 1, parent_of(known.queues[name])
        assert levels <= len(NAMES)
    return levels


@settings(max_examples=150, deadline=None)
@given(writes=WRITES, compat=st.sampled_from(list(Compat)))
def test_an_admitted_tree_is_sound(writes: list[Any], compat: Compat) -> None:
    known = world(compat=compat)
    for name, parent, capability, deserved, guarantee in writes:
        known = write(
            known, name, parent, capability=capability, deserved=deserved, guarantee=guarantee
        )
        assert_sound(known, compat)
