"""Victims: within disruption budgets, from broken gangs first, and no more than a large gang needs."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.unit.scheduling.objects import gang, group, node, pod, priority_class, queue
from tests.unit.scheduling.scenarios.gangs import budget
from tests.unit.scheduling.scenarios.scenario import plugins
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.scheduling.eviction.search import REPRIEVES_TRIED_MAX

CLASSES = [priority_class("high", 100), priority_class("low", 1)]
BUDGETS = plugins("pdb", "predicates", "proportion", "nodeorder")
ZONES = [node("n1", cpu=4, labels={"zone": "a"}), node("n2", cpu=4, labels={"zone": "b"})]


def evicted(world: World) -> list[str]:
    return sorted(p.name for e in world.session().evictions for p in e.pods)


def low(name: str, on: Mapping[str, str], *, cpu: int = 4, minimum: int = 0) -> list[ApiObject]:
    """A job of low priority that budgets speak of: pod to node."""
    return [
        group(name, minimum=minimum, priority_class="low", phase="Running"),
        *(
            pod(pod_name, group=name, requests={"cpu": str(cpu)}, on=at, labels={"app": "db"})
            for pod_name, at in on.items()
        ),
    ]


@dataclass(frozen=True)
class Within:
    """Two zones of one full node each, and a job of high priority that asks for a place."""

    id: str
    allowed: int
    gone: list[str]
    zone: str = "b"
    count: int = 1


WITHIN = [
    Within("the one of use goes, though another is cheaper", 1, ["low-0"]),
    Within("the cheapest goes where any will do", 1, ["low-1"], ""),
    Within("no pod is evicted when no disruption is left", 0, []),
    Within("no pod is evicted when not enough disruptions are left", 1, [], "", 2),
    Within("as many go as are left", 2, ["low-0", "low-1"], "", 2),
]


@pytest.mark.parametrize("case", WITHIN, ids=[case.id for case in WITHIN])
def test_budgets_are_asked_about_those_that_are_of_use(case: Within) -> None:
    selector = {"zone": case.zone} if case.zone else {}
    asking = [
        pod(f"p-{n}", group="p", requests={"cpu": "4"}, selector=selector)
        for n in range(case.count)
    ]
    world = World(
        queue(), CLASSES, ZONES, budget(case.allowed, app="db"),
        low("low", {"low-0": "n2", "low-1": "n1"}),
        group("p", minimum=case.count, priority_class="high"), asking, conf=BUDGETS,
    )  # fmt: skip
    assert evicted(world) == case.gone


def test_what_goes_for_one_job_counts_for_the_next() -> None:
    world = World(
        queue(), CLASSES, ZONES, budget(1, app="db"), low("low", {"low-0": "n2", "low-1": "n1"}),
        gang("p", 1, cpu=4, priority_class="high"), gang("q", 1, cpu=4, priority_class="high"),
        conf=BUDGETS,
    )  # fmt: skip
    assert len(evicted(world)) == 1


def test_a_budget_counts_inside_a_job_too() -> None:
    worker = pod("w-0", group="j", requests={"cpu": "4"}, on="n1", priority=1, labels={"app": "db"})
    master = pod("m-0", group="j", requests={"cpu": "4"}, priority=9, selector={"zone": "a"})
    job = [group("j", minimum=1, phase="Running"), worker, master]
    assert evicted(World(queue(), ZONES, job, budget(1, app="db"), conf=BUDGETS)) == ["w-0"]
    assert evicted(World(queue(), ZONES, job, budget(0, app="db"), conf=BUDGETS)) == []


@dataclass(frozen=True)
class Broken:
    """Three pods of low priority on a full node of twelve CPUs, and what their gang needs."""

    id: str
    failed: str
    gone: list[str]
    asking_in: str = "default"


BROKEN = [
    Broken("a whole gang goes whole", "", ["ps-0", "worker-0", "worker-1"]),
    Broken("of a broken one any pod goes, the last first", "worker-1", ["worker-0"]),
    Broken("even the last of them", "worker-1 ps-0", ["worker-0"]),
    Broken("and for another queue", "worker-1", ["worker-0"], asking_in="other"),
]


@pytest.mark.parametrize("case", BROKEN, ids=[case.id for case in BROKEN])
def test_a_gang_below_its_minimum_protects_no_task(case: Broken) -> None:
    def member(role: str, number: int) -> Pod:
        name = f"{role}-{number}"
        phase = "Failed" if name in case.failed.split() else ""
        return pod(name, group="g", role=role, requests={"cpu": "4"}, on="n", phase=phase)

    there = [member("ps", 0), member("worker", 0), member("worker", 1)]
    filling = [
        pod(f"kept-{n}", requests={"cpu": "4"}, on="n", scheduler="default-scheduler")
        for n in range(len(case.failed.split()))
    ]
    world = World(
        queue(), queue("other"), CLASSES, node("n", cpu=12), there, filling,
        group("g", minimum=3, roles={"ps": 1, "worker": 2}, priority_class="low", phase="Running"),
        gang("p", 1, cpu=4, priority_class="high", queue=case.asking_in, age=9),
        gang("more", 1, cpu=4, priority_class="low", queue=case.asking_in),
    )  # fmt: skip
    assert evicted(world) == case.gone


def test_no_victim_is_a_pod_that_the_preemptor_has_affinity_to() -> None:
    """Both could go by priority; without `db-1` there would be no place for it at all."""
    near = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "host"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    there = [
        pod("a-0", group="a", requests={"cpu": "4"}, on="n"),
        pod("db-1", group="a", requests={"cpu": "4"}, on="n", labels={"app": "db"}, priority=9),
    ]
    world = World(
        queue(), CLASSES, node("n", cpu=8, labels={"host": "n"}),
        group("a", minimum=0, priority_class="low", phase="Running"), there,
        group("p", minimum=1, priority_class="high"),
        pod("p-0", group="p", requests={"cpu": "4"}, affinity=affinity),
    )  # fmt: skip
    assert evicted(world) == ["a-0"]


def test_every_victim_of_a_large_gang_is_needed() -> None:
    """Each node has one large victim and two small ones; each pod needs the large one and a small one."""
    count = REPRIEVES_TRIED_MAX + 6
    large, small = {}, {}
    for n in range(count):
        large[f"large-{n}"] = f"n{n:03}"
        small[f"small-{2 * n}"] = small[f"small-{2 * n + 1}"] = f"n{n:03}"
    world = World(
        queue(), CLASSES, [node(f"n{n:03}", cpu=4) for n in range(count)],
        low("large", large, cpu=2), low("small", small, cpu=1),
        gang("p", count, cpu=3, priority_class="high"),
    )  # fmt: skip
    gone = evicted(world)
    assert len([name for name in gone if name.startswith("large")]) == count
    assert len([name for name in gone if name.startswith("small")]) == count
    world.leave()
    world.session()
    assert world.bound("p") == count


def test_a_large_gang_lets_off_what_is_not_in_its_way_at_all() -> None:
    """All victims lie on nodes that it uses, and only host ports keep it away from one of them."""
    count = REPRIEVES_TRIED_MAX + 6
    there = {f"low-{n}": f"n{n:03}" for n in range(count)}
    blocking = pod("port-0", group="port", requests={"cpu": "1"}, on="n000", host_ports=[80])
    members = [
        pod(f"p-{n}", group="p", requests={"cpu": "3"}, host_ports=[80]) for n in range(count)
    ]
    world = World(
        queue(), CLASSES, [node(f"n{n:03}", cpu=8) for n in range(count)], low("low", there, cpu=2),
        group("port", minimum=1, priority_class="low", phase="Running"), blocking,
        group("p", minimum=count, priority_class="high"), members,
    )  # fmt: skip
    assert evicted(world) == ["port-0"]
