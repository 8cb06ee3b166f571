"""Whatever is evicted: each once, nobody who is protected, and no gang left in pieces."""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.unit.scheduler.objects import GROUP, group, node, pod, priority_class, queue
from tests.unit.scheduler.world import World
from vc_model.meta import ApiObject
from vc_scheduler.logic.decisions import Decisions

PRIORITIES = {"low": 1, "middle": 5, "high": 9, "": 0}
NO = {"volcano.sh/preemptable": "false"}
PHASES = [phase for phase in Phase if phase is not Phase.explain]
"""Explaining traces every line of every session: ten times slower, for little."""


@st.composite
def a_job(draw: st.DrawFn, name: str) -> list[ApiObject]:
    count = draw(st.integers(1, 4))
    protected = draw(st.sampled_from([False, False, False, True]))
    cpu = str(draw(st.integers(1, 4)))
    ports = draw(st.sampled_from([(), (), (), (80,)]))
    members: list[ApiObject] = [
        pod(
            f"{name}-{n}",
            group=name,
            requests={"cpu": cpu},
            host_ports=ports,
            annotations=NO if protected else None,
        )
        for n in range(count)
    ]
    head = group(
        name,
        minimum=draw(st.integers(1, count)),
        queue=draw(st.sampled_from(["a", "b", "kept"])),
        priority_class=draw(st.sampled_from(sorted(PRIORITIES))),
        age=draw(st.integers(0, 3)),
    )
    return [head, *members]


def check_victims(world: World, decisions: Decisions) -> None:
    names = [victim.name for eviction in decisions.evictions for victim in eviction.pods]
    assert len(names) == len(set(names)), "each victim once"
    for eviction in decisions.evictions:
        asking = world.group(eviction.group.removeprefix("ns/"))
        for victim in eviction.pods:
            leaving = world.pod(victim.name)
            assert leaving.metadata.annotations.get("volcano.sh/preemptable") != "false"
            owner = world.group(leaving.metadata.annotations[GROUP])
            if owner.spec.queue == asking.spec.queue:
                mine = PRIORITIES[asking.spec.priority_class_name]
                assert PRIORITIES[owner.spec.priority_class_name] < mine
            else:
                assert owner.spec.queue != "kept", "a queue that is not reclaimable gives nothing"
    for job in {world.pod(name).metadata.annotations[GROUP] for name in names}:
        left = [p for p in world.pods() if p.metadata.annotations.get(GROUP) == job]
        staying = [p for p in left if p.spec.node_name and p.metadata.name not in names]
        least = world.group(job).spec.min_member
        assert not staying or len(staying) >= least, f"{job} is left in pieces"


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(data=st.data())
def test_victims_may_be_evicted_and_gangs_stay_whole(data: st.DataObject) -> None:
    classes = [priority_class(name, value) for name, value in PRIORITIES.items() if name]
    queues = [queue("a", weight=2), queue("b"), queue("kept", reclaimable=False)]
    sizes = data.draw(st.lists(st.integers(2, 8), min_size=1, max_size=4))
    world = World(classes, queues, [node(f"n{n}", cpu=cpu) for n, cpu in enumerate(sizes)])
    for turn in range(4):
        for n in range(data.draw(st.integers(1, 3))):
            world.put(*data.draw(a_job(f"j{turn}{n}")))
        decisions = world.session()
        check_victims(world, decisions)
        world.leave()
        world.now += 1
        world.session()
        world.leave()
        world.now += 1
