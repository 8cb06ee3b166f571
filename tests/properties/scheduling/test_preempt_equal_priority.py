"""preempt between jobs of equal priority: by share, gangs stay whole, and it terminates."""

from fractions import Fraction

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.scheduling.test_evictions import PHASES, PRIORITIES, a_job
from tests.unit.scheduling.objects import GROUP, node, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.scheduling.cache.overlays.evictions import EVICTION_COOLDOWN_SECONDS
from vc.scheduling.conf.model import Conf
from vc.scheduling.model.decisions import Decisions, Eviction

EVEN = Conf(
    tiers=tuple(
        tuple(
            msgspec.structs.replace(p, switches={"preemptable": True} if p.name == "drf" else {})
            for p in tier
        )
        for tier in Conf().tiers
    )
)
"""The default, where jobs of equal priority may be preempted."""

TURNS_MAX = 30
"""Several times what eight jobs need."""


def check_fair(world: World, decisions: Decisions, eviction: Eviction) -> None:
    """With its minimum the job has no more than any equal has left, which keeps its own minimum."""
    gone = {ref.name: None for ref in eviction.pods}
    others = {ref.name: None for e in decisions.evictions if e is not eviction for ref in e.pods}
    asking = world.group(eviction.group.removeprefix("ns/"))
    taken = share(world, [world.pod(place.name) for place in eviction.reserved_nodes])
    for name in {world.pod(name).metadata.annotations[GROUP] for name in gone}:
        giver = world.group(name)
        same = giver.spec.priority_class_name == asking.spec.priority_class_name
        if same:
            assert world.conf == EVEN
            left = [
                p
                for p in world.pods()
                if p.metadata.annotations.get(GROUP) == name
                and p.spec.node_name
                and p.metadata.name not in gone
                and (not p.metadata.deletion_timestamp or p.metadata.name in others)
            ]
            assert len(left) >= giver.spec.min_member
            assert taken <= share(world, left)


def share(world: World, pods: list[Pod]) -> Fraction:
    """Of the CPUs, which are what jobs have most of here."""
    nodes = [obj for obj in world.objects() if isinstance(obj, Node)]
    total = sum(int(n.status.allocatable["cpu"]) for n in nodes)
    return Fraction(sum(int(p.spec.containers[0].resources.requests["cpu"]) for p in pods), total)


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(data=st.data())
def test_evictions_come_to_an_end_when_nothing_changes(data: st.DataObject) -> None:
    """Victims are made again, as controllers do, and wait like other pods."""
    classes = [priority_class(name, value) for name, value in PRIORITIES.items() if name]
    sizes = data.draw(st.lists(st.integers(2, 8), min_size=1, max_size=4))
    nodes = [node(f"n{n}", cpu=cpu) for n, cpu in enumerate(sizes)]
    conf = data.draw(st.sampled_from([Conf(), EVEN, EVEN]))
    world = World(classes, queue("a"), nodes, conf=conf)
    for n in range(data.draw(st.integers(2, 8))):
        head, *members = data.draw(a_job(f"j{n}"))
        assert isinstance(head, PodGroup)
        spec = msgspec.structs.replace(head.spec, queue="a")
        world.put(msgspec.structs.replace(head, spec=spec), *members)
        world.session()
    for turn in range(TURNS_MAX):
        decisions = world.session()
        for eviction in decisions.evictions:
            check_fair(world, decisions, eviction)
        world.now += EVICTION_COOLDOWN_SECONDS + 1
        left = make_again(world, str(turn))
        if not (decisions.evictions or decisions.binds or left):
            return
    raise AssertionError("evictions go on and on")


def make_again(world: World, turn: str) -> list[str]:
    """Those that leave are gone, and others like them wait in their place; who left."""
    terminating = [p for p in world.pods() if p.metadata.deletion_timestamp]
    names = world.leave()
    for left in terminating:
        name = f"{left.metadata.name}{turn}"
        metadata = msgspec.structs.replace(
            left.metadata, name=name, uid=f"pod-{name}", deletion_timestamp=None
        )
        spec = msgspec.structs.replace(left.spec, node_name="")
        status = msgspec.structs.replace(left.status, phase="Pending", nominated_node_name="")
        world.put(msgspec.structs.replace(left, metadata=metadata, spec=spec, status=status))
    return names
