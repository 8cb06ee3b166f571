"""On small clusters the victim set is the cheapest one, found by enumerating all of them.

Every set of victims is removed from a copy of the objects, and the naive reference places the gang there. Of the sets
with which it fits, the chosen one must cost the least, term by term: no gang broken, lowest maximum priority, fewest
pods, least work lost, latest start, name. The cost is computed here from the objects alone.
"""

from collections.abc import Iterator
from itertools import chain, combinations, product

import msgspec
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from tests.reference.session import Session
from tests.unit.scheduling.objects import (
    EPOCH,
    GROUP,
    gang,
    group,
    node,
    pod,
    priority_class,
    queue,
)
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.model.values.quantity import parse_resources
from vc.model.values.times import format_time, parse_time
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.eviction.victim_search import SETS_MAX

PHASES = [phase for phase in Phase if phase is not Phase.explain]
PRIORITIES = {"low": 1, "middle": 5, "high": 9}
CLASSES = [priority_class(name, value) for name, value in PRIORITIES.items()]
CAPACITY = Conf(
    tiers=(
        Conf().tiers[0],
        (
            *(plugin for plugin in Conf().tiers[1] if plugin.name != "proportion"),
            PluginConf(name="capacity"),
        ),
    )
)
"""Queues that list nothing deserve nothing: reclaim may take any pod of theirs."""
SECONDS = st.sampled_from([0, 1, 60, 60, 600])


@st.composite
def running(draw: st.DrawFn, name: str, nodes: dict[str, int]) -> list[ApiObject]:
    """A gang on nodes with free capacity; `nodes` says what is left of their CPUs."""
    cpu = draw(st.integers(1, 2))
    members: list[Pod] = []
    for n in range(draw(st.integers(1, 4))):
        fitting = [at for at, left in nodes.items() if left >= cpu]
        if not fitting:
            break
        at = draw(st.sampled_from(fitting))
        nodes[at] -= cpu
        member = pod(f"{name}-{n}", group=name, requests={"cpu": str(cpu)}, on=at)
        started = format_time(EPOCH - draw(SECONDS))
        status = msgspec.structs.replace(member.status, start_time=started)
        members.append(msgspec.structs.replace(member, status=status))
    if not members:
        return []
    head = group(
        name,
        minimum=draw(st.integers(1, len(members))),
        queue="a",
        priority_class=draw(st.sampled_from(["low", "low", "middle"])),
        phase="Running",
    )
    return [head, *members]


class Cluster:
    """Gangs that run in queue a, and one that asks."""

    def __init__(self, data: st.DataObject, *, asking_in: str) -> None:
        sizes = data.draw(st.lists(st.integers(2, 5), min_size=1, max_size=3))
        left = {f"n{n}": cpu for n, cpu in enumerate(sizes)}
        self.nodes = [node(f"n{n}", cpu=cpu) for n, cpu in enumerate(sizes)]
        jobs = [data.draw(running(f"j{n}", left)) for n in range(data.draw(st.integers(1, 8)))]
        self.jobs = [job for job in jobs if job]
        self.asking = gang(
            "p",
            data.draw(st.integers(1, 3)),
            queue=asking_in,
            priority_class="high" if asking_in == "a" else "low",
            cpu=data.draw(st.integers(1, 3)),
        )
        self.queues = [queue("a"), queue("b", deserved={"cpu": "99"})]

    def objects(self) -> list[ApiObject]:
        jobs = [obj for job in self.jobs for obj in job]
        return [*CLASSES, *self.queues, *self.nodes, *jobs, *self.asking]

    def pods(self, job: list[ApiObject]) -> list[Pod]:
        return [obj for obj in job if isinstance(obj, Pod)]

    def minimum(self, job: list[ApiObject]) -> int:
        head = job[0]
        return int(getattr(head, "spec").min_member)  # noqa: B009 - the first object is the pod group

    def sets(self) -> Iterator[list[Pod]]:
        """Every set of victims: of each gang all of its pods, or as many as leave it its minimum."""
        options = []
        for job in self.jobs:
            members = self.pods(job)
            spare = len(members) - self.minimum(job)
            some = chain.from_iterable(combinations(members, k) for k in range(spare + 1))
            options.append([*some, tuple(members)])
        for parts in product(*options):
            yield [victim for part in parts for victim in part]

    def fits_without(self, victims: list[Pod]) -> bool:
        gone = {victim.metadata.uid for victim in victims}
        left = [
            obj for obj in self.objects() if obj.metadata.uid not in gone or not obj.metadata.uid
        ]
        session = Session(left, actions=(), plugin="capacity")
        return session.try_minimum(session.cluster.jobs["ns/p"]) is not None

    def cost(self, victims: list[Pod]) -> tuple[object, ...]:
        gone = {victim.metadata.name for victim in victims}
        names = []
        broken, highest = False, 0
        for job in self.jobs:
            members = [member.metadata.name for member in self.pods(job)]
            mine = [name for name in members if name in gone]
            if not mine:
                continue
            broken |= len(members) - len(mine) < self.minimum(job)
            highest = max(highest, PRIORITIES[getattr(job[0], "spec").priority_class_name])  # noqa: B009
            names += [(job[0].key, len(members) - members.index(name)) for name in mine]
        starts = [parse_time(victim.status.start_time) or 0.0 for victim in victims]
        cpus = sum(int(str(n.status.allocatable["cpu"])) for n in self.nodes) * 1000
        memory = sum(dict(parse_resources(n.status.allocatable))["pods"] for n in self.nodes)
        work = 0
        for victim, start in zip(victims, starts, strict=True):
            cpu = 1000 * int(str(victim.spec.containers[0].resources.requests["cpu"]))
            work += int(EPOCH - start) * max(cpu * 10**6 // cpus, 1000 * 10**6 // memory)
        return (broken, highest, len(victims), work, -min(starts), sorted(names))


def hold(data: st.DataObject, *, asking_in: str, conf: Conf) -> None:
    cluster = Cluster(data, asking_in=asking_in)
    sets = list(cluster.sets())
    assume(2 ** sum(len(cluster.pods(job)) for job in cluster.jobs) <= SETS_MAX)
    world = World(cluster.objects(), conf=conf)
    decisions = world.session()
    assert all(GROUP in member.metadata.annotations for member in world.pods())
    if world.bound("p"):
        assert cluster.fits_without([])
        return
    feasible = [victims for victims in sets if victims and cluster.fits_without(victims)]
    chosen = sorted(ref.name for eviction in decisions.evictions for ref in eviction.pods)
    if not feasible:
        assert chosen == []
        return
    best = min(feasible, key=cluster.cost)
    assert chosen == sorted(victim.metadata.name for victim in best)


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(data=st.data())
def test_preempt_evicts_the_cheapest_set(data: st.DataObject) -> None:
    hold(data, asking_in="a", conf=Conf())


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(data=st.data())
def test_reclaim_evicts_the_cheapest_set(data: st.DataObject) -> None:
    hold(data, asking_in="b", conf=CAPACITY)
