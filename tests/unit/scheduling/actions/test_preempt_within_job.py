"""preempt within a job: tasks of higher priority replace pods of other tasks, and the gang stays whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.unit.scheduling.objects import group, node, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject


def task(name: str, *, on: str = "", role: str = "w", cpu: int = 4, priority: int = 1) -> ApiObject:
    return pod(name, group="j", role=role, requests={"cpu": str(cpu)}, on=on, priority=priority)


MASTER = task("m-0", role="m", priority=10)
LARGE = task("m-0", role="m", priority=10, cpu=8)
TWO = [task("w-0", on="n1"), task("w-1", on="n1")]


@dataclass(frozen=True)
class Case:
    """A job on full nodes of eight CPUs, one of whose tasks waits."""

    id: str
    tasks: list[ApiObject]
    minimum: int
    gone: str
    roles: Mapping[str, int] = field(default_factory=dict)
    state: str = "Open"


CASES = [
    Case("the more important one takes a place", [*TWO, MASTER], 1, "w-1"),
    Case("no pod is evicted in a closed queue", [*TWO, MASTER], 1, "", state="Closed"),
    Case("one for one keeps a minimum that is just there", [*TWO, MASTER], 2, "w-1"),
    Case("two for one do not", [*TWO, LARGE], 2, ""),
    Case("two for one may, where more are there than needed", [*TWO, LARGE], 1, "w-0 w-1"),
    Case("a task keeps what it needs", [*TWO, MASTER], 2, "", {"w": 2}),
    Case("another role gives instead", [*TWO, task("a-0", role="a", on="n2"), task("z-0", role="z", on="n2"), MASTER], 3, "z-0", {"w": 2, "a": 1}),
    Case("no pod is evicted for a gang that stays partial", [*TWO, MASTER], 3, ""),
    Case("a gang in pieces may be made whole", [*TWO, MASTER], 2, "w-1", {"m": 1}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_gang_keeps_its_minimums(case: Case) -> None:
    used = {"n1": None} | {p.spec.node_name: None for p in case.tasks if p.spec.node_name}  # type: ignore[attr-defined]  # they are pods
    world = World(
        queue(state=case.state), [node(name, cpu=8) for name in used],
        group("j", minimum=case.minimum, roles=case.roles, phase="Running"), case.tasks,
    )  # fmt: skip
    decisions = world.session()
    assert " ".join(sorted(p.name for e in decisions.evictions for p in e.pods)) == case.gone
    if case.gone:
        world.leave()
        world.session()
        assert "m-0" in world.where()


def test_of_equal_tasks_those_go_whose_places_are_of_use() -> None:
    """Two may go, and the two that go first lie where the waiting one cannot."""
    there = [task("w-0", on="n1"), task("w-1", on="n1"), task("w-2", on="n2"), task("w-3", on="n2")]
    large = pod(
        "m-0", group="j", role="m", requests={"cpu": "8"}, priority=10, selector={"zone": "one"}
    )
    world = World(
        queue(), node("n1", cpu=8, labels={"zone": "one"}), node("n2", cpu=8),
        group("j", minimum=3, phase="Running"), [*there, large],
    )  # fmt: skip
    decisions = world.session()
    assert sorted(p.name for e in decisions.evictions for p in e.pods) == ["w-0", "w-1"]


def test_many_jobs_whose_tasks_find_no_place_do_not_hide_the_last() -> None:
    """Each has a task that is too large for what its own may give; that of the last is not."""
    objects: list[ApiObject] = []
    for n in range(70):
        name = f"j{n:02}"
        cpu = "4" if n == 69 else "5"
        objects += [
            node(name, cpu=8),
            group(name, minimum=1, phase="Running"),
            pod(f"{name}-w-0", group=name, requests={"cpu": "4"}, on=name, priority=1),
            pod(f"{name}-k-0", requests={"cpu": "4"}, on=name, scheduler="other"),
            pod(f"{name}-m-0", group=name, requests={"cpu": cpu}, priority=9),
        ]
    world = World(queue(), objects)
    gone: list[str] = []
    for _ in range(4):
        gone += [p.name for e in world.session().evictions for p in e.pods]
        world.now += 11
    assert gone == ["j69-w-0"]
