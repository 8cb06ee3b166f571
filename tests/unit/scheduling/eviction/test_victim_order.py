"""The order of victim sets: one for preempt, reclaim, equal priority and within a job."""

from dataclasses import dataclass, field

import msgspec
import pytest

from tests.unit.scheduling.objects import EPOCH, gang, group, node, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.values.times import format_time
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.eviction.victim_search import SETS_MAX

CLASSES = [priority_class("high", 100), priority_class("middle", 50), priority_class("low", 1)]
CAPACITY = Conf(
    tiers=(
        Conf().tiers[0],
        (
            *(plugin for plugin in Conf().tiers[1] if plugin.name != "proportion"),
            PluginConf(name="capacity"),
        ),
    )
)
QUEUES = [queue("default"), queue("claims", deserved={"cpu": "99"})]


def running(
    name: str,
    on: str,
    *,
    minimum: int | None = None,
    job_class: str = "low",
    cpu: int = 1,
    ago: int = 0,
) -> list[ApiObject]:
    """A job with one pod on each of these nodes, which started so many seconds ago."""
    places = on.split()
    members: list[ApiObject] = []
    for n, at in enumerate(places):
        member = pod(f"{name}-{n}", group=name, requests={"cpu": str(cpu)}, on=at)
        status = msgspec.structs.replace(member.status, start_time=format_time(EPOCH - ago))
        members.append(msgspec.structs.replace(member, status=status))
    least = len(places) if minimum is None else minimum
    return [group(name, minimum=least, priority_class=job_class, phase="Running"), *members]


@dataclass(frozen=True)
class Case:
    """Full nodes n1, n2 …, a job that asks for so many pods of so many CPUs, and which pods go."""

    id: str
    there: list[list[ApiObject]]
    victims: str
    pods: int = 1
    cpu: int = 1
    nodes: list[int] = field(default_factory=lambda: [8])
    size: str = ""
    """Of the node where the job may go alone; empty for any."""


EIGHT = running("gang", "n1 n1 n1 n1 n1 n1 n1 n1")
CASES = [
    Case("pods above a minimum before a gang of eight", [EIGHT, running("elastic", "n2 n2 n2 n2", minimum=2, ago=999)], "elastic-2 elastic-3", pods=2, nodes=[8, 4]),
    Case("of a higher priority, too", [EIGHT, running("elastic", "n2 n2 n2 n2", minimum=2, job_class="middle")], "elastic-2 elastic-3", pods=2, nodes=[8, 4]),
    Case("wherever those pods lie", [running("elastic", "n2 n2 n1 n1", minimum=2), running("gang", "n2 n2 n2 n2 n2 n2")], "elastic-0 elastic-1", cpu=2, nodes=[2, 8], size="8"),
    Case("two pods of another gang before a gang of eight", [EIGHT, running("pair", "n2 n2", ago=999)], "pair-0 pair-1", pods=2, nodes=[8, 2]),
    Case("the lowest priority before fewer pods", [EIGHT, running("pair", "n2 n2", job_class="middle")], " ".join(f"gang-{n}" for n in range(8)), pods=2, nodes=[8, 2]),
    Case("fewer pods before less work", [running("a", "n1 n1", minimum=0), running("b", "n2", minimum=0, cpu=2, ago=9999)], "b-0", cpu=2, nodes=[2, 2]),
    Case("all pods of a broken gang count", [running("a", "n1 n2 n2"), running("b", "n1 n1", ago=999)], "b-0 b-1", cpu=1, nodes=[3, 2]),
    Case("less work before a later name", [running("a", "n1", ago=600), running("b", "n2", ago=60)], "b-0", nodes=[1, 1]),
    Case("work is run time times size", [running("a", "n1", cpu=1, ago=60), running("b", "n2", cpu=4, ago=20)], "a-0", nodes=[1, 4]),
    Case("all lost work counts, not the longest", [running("a", "n1 n1", ago=60), running("b", "n2", ago=100), running("c", "n2", ago=10)], "b-0 c-0", cpu=2, nodes=[2, 2]),
    Case("the later start where the work is equal", [running("a", "n1", cpu=1, ago=80), running("b", "n2", cpu=2, ago=40)], "b-0", nodes=[1, 2]),
    Case("the first name where all is equal", [running("b", "n1"), running("a", "n2")], "a-0", nodes=[1, 1]),
    Case("the last pod of a job", [running("a", "n1 n1 n1", minimum=1)], "a-2", nodes=[3]),
]  # fmt: skip


def evicted(case: Case, *, asking_in: str, job_class: str, conf: Conf) -> list[str]:
    selector = {"size": case.size} if case.size else {}
    asking = [
        pod(f"p-{n}", group="p", requests={"cpu": str(case.cpu)}, selector=selector)
        for n in range(case.pods)
    ]
    head = group("p", minimum=case.pods, queue=asking_in, priority_class=job_class)
    nodes = [
        node(f"n{n}", cpu=cpu, labels={"size": str(cpu)}) for n, cpu in enumerate(case.nodes, 1)
    ]
    world = World(QUEUES, CLASSES, nodes, *case.there, head, asking, conf=conf)
    return sorted(ref.name for eviction in world.session().evictions for ref in eviction.pods)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_preempt_takes_the_cheapest_set(case: Case) -> None:
    gone = evicted(case, asking_in="default", job_class="high", conf=Conf())
    assert gone == case.victims.split()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_reclaim_takes_the_same_set(case: Case) -> None:
    gone = evicted(case, asking_in="claims", job_class="low", conf=CAPACITY)
    assert gone == case.victims.split()


def test_within_a_job_the_pod_goes_that_loses_least() -> None:
    def worker(number: int, ago: int) -> ApiObject:
        member = pod(f"w-{number}", group="j", requests={"cpu": "4"}, on=f"n{number}", priority=1)
        status = msgspec.structs.replace(member.status, start_time=format_time(EPOCH - ago))
        return msgspec.structs.replace(member, status=status)

    master = pod("m-0", group="j", requests={"cpu": "4"}, priority=9)
    job = [group("j", minimum=1, phase="Running"), worker(0, 10), worker(1, 600), master]
    world = World(QUEUES, node("n0", cpu=4), node("n1", cpu=4), job)
    assert [ref.name for e in world.session().evictions for ref in e.pods] == ["w-0"]


def test_an_equal_gives_the_pods_that_lose_least() -> None:
    first, second = Conf().tiers
    fair = tuple(
        PluginConf(name="drf", switches={"preemptable": True}) if p.name == "drf" else p
        for p in second
    )
    there = running("a", "n1 n1", minimum=1, ago=600), running("b", "n2 n2", minimum=1, ago=60)
    world = World(
        QUEUES, CLASSES, node("n1", cpu=2), node("n2", cpu=2), *there,
        gang("p", 1, priority_class="low", cpu=1), conf=Conf(tiers=(first, fair)),
    )  # fmt: skip
    assert [ref.name for e in world.session().evictions for ref in e.pods] == ["b-1"]


def test_a_pod_that_has_not_started_has_lost_nothing() -> None:
    waiting = pod("b-0", group="b", requests={"cpu": "1"}, on="n2", phase="Pending")
    world = World(
        QUEUES, CLASSES, node("n1", cpu=1), node("n2", cpu=1), running("a", "n1", ago=1),
        group("b", minimum=1, priority_class="low", phase="Running"), waiting,
        gang("p", 1, priority_class="high", cpu=1),
    )  # fmt: skip
    assert [ref.name for e in world.session().evictions for ref in e.pods] == ["b-0"]


def test_among_many_sets_a_victim_is_exchanged_for_a_cheaper_one() -> None:
    """Large pods that ran long are considered first; a small one that has just begun is enough."""
    count = SETS_MAX // 2 + 1
    there = [
        running(f"{kind}{n:03}", f"{kind}{n:03}", cpu=cpu, ago=ago, minimum=0)
        for kind, cpu, ago in (("a", 2, 9000), ("b", 1, 1))
        for n in range(count)
    ]
    nodes = [
        node(f"{kind}{n:03}", cpu=cpu) for kind, cpu in (("a", 2), ("b", 1)) for n in range(count)
    ]
    world = World(QUEUES, CLASSES, nodes, *there, gang("p", 1, priority_class="high", cpu=1))
    assert [ref.name for e in world.session().evictions for ref in e.pods] == ["b000-0"]
