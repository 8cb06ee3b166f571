"""Evictions: every victim is needed, no protected pod is a victim, and no gang is broken.

After a session with evictions the victims terminate, nothing else changes, and the next session must bind the preemptor,
or a job that takes over its reservation.

When other jobs arrive meanwhile, each reservation must end with a bound job: the preemptor, or a job of the same queue
and of higher priority that requests no more than the reservation and took it over, bound at once or with a reservation
of its own. A takeover is part of the session's decisions; a reservation has no other end while its nodes, its queue and
the time stay the same.
"""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.unit.scheduling.objects import GROUP, group, node, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.struct import ResourceList
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.model.decisions import Decisions

PRIORITIES = {"low": 1, "middle": 5, "high": 9, "": 0}
NO = {"volcano.sh/preemptable": "false"}
DESERVED: list[ResourceList | None] = [
    None, {"cpu": "3"}, {"memory": "4Gi"}, {"cpu": "8", "memory": "2Gi"},
]  # fmt: skip
MEMORY: list[ResourceList] = [{}, {}, {"memory": "1Gi"}, {"memory": "5Gi"}]
PARENT = st.sampled_from(["", "dept"])
PHASES = [phase for phase in Phase if phase is not Phase.explain]
"""Explaining traces every line of every session: ten times slower, for little."""


@st.composite
def a_job(draw: st.DrawFn, name: str) -> list[ApiObject]:
    count = draw(st.integers(1, 4))
    protected = draw(st.sampled_from([False, False, False, True]))
    cpu = str(draw(st.integers(1, 4)))
    memory = draw(st.sampled_from(MEMORY))
    ports = draw(st.sampled_from([(), (), (), (80,)]))
    members: list[ApiObject] = [
        pod(
            f"{name}-{n}",
            group=name,
            requests={"cpu": cpu, **memory},
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
            terminating = world.pod(victim.name)
            assert terminating.metadata.annotations.get("volcano.sh/preemptable") != "false"
            owner = world.group(terminating.metadata.annotations[GROUP])
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


def a_world(data: st.DataObject) -> World:
    classes = [priority_class(name, value) for name, value in PRIORITIES.items() if name]
    fair = st.sampled_from(DESERVED)
    queues = [
        queue("dept", deserved=data.draw(fair)),
        queue("a", weight=2, deserved=data.draw(fair), parent=data.draw(PARENT)),
        queue("b", deserved=data.draw(fair), parent=data.draw(PARENT)),
        queue("kept", reclaimable=False, deserved=data.draw(fair)),
    ]
    sizes = data.draw(st.lists(st.integers(2, 8), min_size=1, max_size=4))
    there = [node(f"n{n}", cpu=cpu, memory=f"{2 * cpu}Gi") for n, cpu in enumerate(sizes)]
    first, second = Conf().tiers
    capacity = data.draw(st.sampled_from([None, "0", "1"]))
    if capacity is not None:
        by = PluginConf(name="capacity", arguments={"ancestorReclaimLevel": capacity})
        second = tuple(by if plugin.name == "proportion" else plugin for plugin in second)
    return World(classes, queues, there, conf=Conf(tiers=(first, second)))


def some_jobs(data: st.DataObject, world: World, turn: int) -> None:
    for n in range(data.draw(st.integers(1, 3))):
        world.put(*data.draw(a_job(f"j{turn}{n}")))


@settings(max_examples=200, deadline=None, phases=PHASES)
@given(data=st.data())
def test_every_eviction_lets_its_preemptor_run(data: st.DataObject) -> None:
    world = a_world(data)
    for turn in range(4):
        some_jobs(data, world, turn)
        decisions = world.session()
        check_victims(world, decisions)
        gone = world.leave()
        reserved = [eviction.group for eviction in decisions.evictions]
        world.now += 1
        again = world.session()
        taken_over = {
            lost: takeover.group for takeover in again.takeovers for lost in takeover.lost
        }
        for holder in [taken_over.get(one, one) for one in reserved]:
            name = holder.removeprefix("ns/")
            assert world.bound(name) >= world.group(name).spec.min_member, f"{gone} were not needed"
        assert not {e.group for e in again.evictions} & set(reserved) - set(taken_over)
        world.leave()
        world.now += 1


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(data=st.data())
def test_reservations_are_kept_while_victims_end_one_by_one_and_jobs_arrive(
    data: st.DataObject,
) -> None:
    world = a_world(data)
    reserved: dict[str, None] = {}
    taken_over: dict[str, str] = {}
    bound: dict[str, None] = {}

    def session() -> Decisions:
        decisions = world.session()
        reserved.update({eviction.group: None for eviction in decisions.evictions})
        bound.update({gang_bind.group: None for gang_bind in decisions.binds})
        for takeover in decisions.takeovers:
            assert reserved.keys() >= set(takeover.lost), "only reservations are taken over"
            reserved.update({takeover.group: None} if takeover.reserved_nodes else {})
            taken_over.update(dict.fromkeys(takeover.lost, takeover.group))
        world.now += 1
        return decisions

    for turn in range(4):
        some_jobs(data, world, turn)
        session()
        terminating = sorted(p.metadata.name for p in world.pods() if p.metadata.deletion_timestamp)
        for name in (
            data.draw(st.lists(st.sampled_from(terminating), unique=True)) if terminating else ()
        ):
            world.delete_pod(name)
    while session().binds or world.leave():
        continue
    for name in reserved:
        holder = name
        while holder not in bound and holder in taken_over:
            holder = taken_over[holder]
        assert holder in bound, "a reservation was not redeemed"
