"""preempt between jobs of equal priority, where drf has `enablePreemptable: true`."""

from dataclasses import dataclass, field

import msgspec
import pytest

from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import group, node, pod, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.meta import ApiObject
from vc.scheduling.cache.overlays.evictions import EVICTION_COOLDOWN_SECONDS
from vc.scheduling.conf.model import Conf


def conf(**switches: dict[str, bool]) -> Conf:
    """The default with switches, drf's preemptable among them."""
    switched = {"drf": {"preemptable": True}, **switches}
    return Conf(
        tiers=tuple(
            tuple(msgspec.structs.replace(p, switches=switched.get(p.name, {})) for p in tier)
            for tier in Conf().tiers
        )
    )


@dataclass(frozen=True)
class Case:
    """A full cluster, a job that asks, and who must go."""

    id: str
    there: list[list[ApiObject]]
    asking: list[ApiObject]
    victims: list[str]
    nodes: list[int] = field(default_factory=lambda: [8])
    """CPUs of node-01, node-02 …"""
    conf: Conf = field(default_factory=conf)


def equal(count: int = 1, *, cpu: int = 4, **how: object) -> list[ApiObject]:
    return asking(count, cpu=cpu, job_class="low", **how)


def growing() -> list[ApiObject]:
    """A job that has its minimum and would have more."""
    pods = [pod(f"p-{n}", group="p", requests={"cpu": "1"}) for n in range(2)]
    first = pod("p-0", group="p", requests={"cpu": "1"}, on="node-01")
    return [group("p", minimum=1, priority_class="low", phase="Running"), first, pods[1]]


ON_FIRST = {"kubernetes.io/hostname": "node-01"}
CASES = [
    Case("a job with more gives until both have the same", [running("a", 2)], equal(), ["a-1"]),
    Case("without the switch no job is preempted", [running("a", 2)], equal(), [], conf=Conf()),
    Case("with the switch off no job is preempted", [running("a", 2)], equal(), [], conf=conf(drf={"preemptable": False})),
    Case("no pod is evicted for a job that would have more then", [running("a", 4, cpu=2)], equal(cpu=6), []),
    Case("a little more is too much", [running("a", 8, cpu=1)], equal(5, cpu=1), []),
    Case("as much as is even", [running("a", 8, cpu=1)], equal(4, cpu=1), ["a-4", "a-5", "a-6", "a-7"]),
    Case("no equal falls below its minimum", [running("a", 2, minimum=2)], equal(cpu=1), []),
    Case("an equal gives no more than it has beyond its minimum", [running("a", 8, cpu=1, minimum=6)], equal(3, cpu=1), []),
    Case("who has less than it gives nothing", [running("a", 6, cpu=1, age=9), running("b", 2, cpu=1)], equal(2, cpu=1), ["a-4", "a-5"]),
    Case("two give one each", [running("a", 4, cpu=1, age=9), running("b", 4, cpu=1)], equal(3, cpu=1), ["a-3", "b-3"], [9]),
    Case("not even together is it fair", [running("a", 4, cpu=1), running("b", 4, cpu=1)], equal(3, cpu=1), []),
    Case("a higher priority gives nothing", [running("a", 2, job_class="middle")], equal(), []),
    Case("lower ones go first, a whole gang too", [running("a", 6, cpu=1, job_class="middle"), running("b", 2, cpu=1, minimum=2)], asking(2, cpu=1, job_class="middle"), ["b-0", "b-1"]),
    Case("lower ones and equals together", [running("a", 6, cpu=1, job_class="middle"), running("b", 2, cpu=1)], asking(4, cpu=1, job_class="middle"), ["a-4", "a-5", "b-0", "b-1"]),
    Case("an equal's pods beyond its minimum before a lower gang", [running("a", 6, cpu=1, job_class="middle"), running("b", 2, cpu=1)], asking(3, cpu=1, job_class="middle"), ["a-3", "a-4", "a-5"]),
    Case("other queues are left alone", [running("a", 2, in_queue="team")], equal(), []),
    Case("pods that say no are left alone", [running("a", 2, annotations={"volcano.sh/preemptable": "false"})], equal(), []),
    Case("who may give one gives the one that is of use", [running("a", 2, cpu=1), [pod("a-2", group="a", requests={"cpu": "1"}, on="node-02")]], equal(cpu=2, selector=ON_FIRST), ["a-1"], [3, 1]),
    Case("who has its minimum takes nothing from equals", [running("a", 7, cpu=1)], growing(), [], conf=conf(gang={"jobstarving": False})),
]  # fmt: skip


def world_of(case: Case) -> World:
    cluster = [
        node(f"node-{n:02}", cpu=cpu, labels={"kubernetes.io/hostname": f"node-{n:02}"})
        for n, cpu in enumerate(case.nodes, start=1)
    ]
    queues = [queue(), queue("team", reclaimable=False)]
    return World(queues, CLASSES, cluster, *case.there, case.asking, conf=case.conf)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_preemption_between_jobs_of_equal_priority_is_by_share(case: Case) -> None:
    world = world_of(case)
    decisions = world.session()
    assert sorted(p.name for e in decisions.evictions for p in e.pods) == case.victims
    if not case.victims:
        return
    assert reason_of(decisions, "p").stage is Stage.VICTIMS
    world.leave()
    world.session()
    assert world.bound("p") == len(case.asking) - 1, "every victim was needed"


@pytest.mark.parametrize(("memory", "victims"), [("64Gi", ["a-2"]), ("640Gi", [])])
def test_the_dominant_resource_counts(memory: str, victims: list[str]) -> None:
    """Of CPU it would have more than the other keeps, but that one may have most of the memory."""
    asked = {"cpu": "2", "memory": "20Gi"}
    there = [pod(f"a-{n}", group="a", requests=dict(asked), on="n") for n in range(3)]
    world = World(
        queue(), node("n", cpu=9, memory=memory), group("a", minimum=1, phase="Running"), there,
        [group("p", minimum=1), pod("p-0", group="p", requests={"cpu": "5"})], conf=conf(),
    )  # fmt: skip
    assert [p.name for e in world.decide().evictions for p in e.pods] == victims


def test_two_that_ask_share_what_one_gives() -> None:
    """What went for the first does not count for the second any more."""
    late = [group("q", minimum=3), *(pod(f"q-{n}", group="q", requests={"cpu": "1"}) for n in range(3))]  # fmt: skip
    first = [group("p", minimum=3, age=9), *(pod(f"p-{n}", group="p", requests={"cpu": "1"}) for n in range(3))]  # fmt: skip
    there = running("a", 8, cpu=1, job_class="")
    world = World(queue(), node("node-01", cpu=8), there, first, late, conf=conf())
    decisions = world.session()
    assert {e.group: len(e.pods) for e in decisions.evictions} == {"ns/p": 3}


def test_equals_do_not_take_from_one_another_in_turns() -> None:
    """Victims are created again and wait; once the shares are even no pod is evicted."""
    world = World(queue(), CLASSES, node("node-01", cpu=8), running("a", 8, cpu=1), equal(2, cpu=2),
                  conf=conf())  # fmt: skip
    evicted = 0
    for turn in range(20):
        evicted += sum(len(e.pods) for e in world.session().evictions)
        for name in world.leave():
            owner = name.split("-")[0]
            world.put(
                pod(f"{owner}-{100 * turn + int(name[2:])}", group=owner, requests={"cpu": "1"})
            )
        world.now += EVICTION_COOLDOWN_SECONDS + 1
    assert evicted == 4
    assert (world.bound("a"), world.bound("p")) == (4, 2)
