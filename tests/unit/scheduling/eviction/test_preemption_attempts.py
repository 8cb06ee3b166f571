"""Preemption attempts are bounded and rotate: preemptors of one equivalence class share a failed attempt."""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.scenarios.scenario import plugins
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.scheduling import plugins as plugin_registry
from vc.scheduling.framework.framework import Framework
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.placement.attempts import (
    FAILED_MAX,
    FAILED_REMOVALS_MAX,
    ROTATED_MAX,
    ROTATED_REMOVALS_MAX,
    TRIED_MAX,
    UNTRIED_SECONDS,
    PreemptionAttempts,
)
from vc.scheduling.placement.simulated_removal import Simulations
from vc.scheduling.session.session import Session

MANY = FAILED_MAX + 2 * ROTATED_MAX


def evicted(world: World) -> list[str]:
    return [p.name for e in world.session().evictions for p in e.pods]


def kept(cpu: int, on: str = "node-01") -> ApiObject:
    """Nobody has it evicted."""
    return pod("kept", requests={"cpu": str(cpu)}, on=on, scheduler="default-scheduler")


def large(count: int, *, first: int, in_queue: str = "default", step: int = 1) -> list[ApiObject]:
    """Jobs that go before others and request more than any victims free, each for another amount."""
    jobs: list[ApiObject] = []
    for n in range(count):
        jobs += gang(
            f"large{n:02}", 1, cpu=first + step * n, priority_class="high", age=99, queue=in_queue
        )
    return jobs


def halves(
    name: str, milli: int, *, in_queue: str = "default", job_class: str = "high", at: str = ""
) -> list[ApiObject]:
    """A gang of two tasks: each of them may fit by itself, so only a simulation shows whether both do."""
    where = {"at": at} if at else {}
    return [
        group(name, minimum=2, roles={"x": 1, "y": 1}, queue=in_queue, priority_class=job_class, age=99),
        *[
            pod(f"{name}-{role}", group=name, role=role, requests={"cpu": f"{milli}m"}, selector=where)
            for role in ("x", "y")
        ],
    ]  # fmt: skip


def test_jobs_that_no_node_suits_are_not_tried() -> None:
    nowhere = [
        obj
        for n in range(MANY)
        for obj in (
            group(f"odd{n}", minimum=1, priority_class="high", age=99),
            pod(f"odd{n}-0", group=f"odd{n}", requests={"cpu": f"{n + 1}"}, selector={"x": "nowhere"}),
        )
    ]  # fmt: skip
    world = World(queue(), CLASSES, nodes(1, cpu=100), kept(92), running("a", 2), nowhere, asking())
    assert evicted(world) == ["a-1"]


def test_jobs_that_are_larger_than_any_node_are_not_tried() -> None:
    world = World(
        queue(), CLASSES, nodes(1, cpu=8), running("a", 2), large(MANY, first=9), asking()
    )
    assert evicted(world) == ["a-1"]


def test_preemptors_that_no_victims_help_are_not_simulated() -> None:
    world = World(
        queue(), CLASSES, nodes(1, cpu=100), kept(92), running("a", 2),
        large(MANY, first=9), asking(),
    )  # fmt: skip
    assert evicted(world) == ["a-1"]


def test_equal_jobs_are_tried_once() -> None:
    world = World(
        queue(), CLASSES, nodes(1, cpu=100), kept(92), running("a", 2),
        *[halves(f"large{n:02}", 5000) for n in range(MANY)], asking(),
    )  # fmt: skip
    assert evicted(world) == ["a-1"]


def test_different_ones_do_not_hide_the_last_for_ever() -> None:
    world = World(
        queue(), CLASSES, nodes(1, cpu=100), kept(92), running("a", 2),
        *[halves(f"large{n:02}", 5000 + n) for n in range(MANY)], asking(),
    )  # fmt: skip
    first = world.session()
    assert first.evictions == ()
    assert first.wake_at is not None
    assert first.wake_at <= world.now + UNTRIED_SECONDS, "a session goes on even if nothing happens"
    later = [victim for _ in range(MANY - FAILED_MAX) for victim in evicted(world)]
    assert later == ["a-1"]


def test_queues_that_may_not_take_anything_back_do_not_hide_those_that_may() -> None:
    world = World(
        queue("first", priority=9), queue("second"), queue("rich"), CLASSES, nodes(1, cpu=90),
        kept(6), running("f", 1, cpu=40, in_queue="first", job_class="high"),
        running("r", 11, cpu=4, in_queue="rich"),
        large(MANY, first=30, in_queue="first"), gang("p", 1, cpu=4, queue="second"),
    )  # fmt: skip
    assert [e.group for e in world.session().evictions] == ["ns/p"]


def test_a_reservation_is_taken_over_in_the_end_by_the_job_that_may() -> None:
    """`p` has reserved eight CPUs; all jobs of higher priority but the last request more."""
    world = World(
        queue(), CLASSES, nodes(1, cpu=100), kept(92), running("a", 2),
        asking(cpu=8, job_class="middle"),
    )  # fmt: skip
    assert len(evicted(world)) == 2
    world.put(*large(MANY, first=9), *gang("last", 1, cpu=8, priority_class="high"))
    taken = [world.session().takeovers for _ in range(3)]
    assert [t.lost for some in taken for t in some] == [("ns/p",)]


class Counting:
    """Counts how often it is asked whom to protect."""

    name: ClassVar[str] = "counting"
    asked: ClassVar[int] = 0

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments

    def reclaimable(self, session: Session, pod: PodRow) -> bool:
        del session, pod
        Counting.asked += 1
        return True


def asked_for(count: int, *, free: int, milli: int) -> int:
    """How often, when so many different jobs of a queue do not fit on n2, of which so much is free."""
    jobs = [
        obj
        for n in range(count)
        for obj in halves(f"p{n:02}", milli + n, in_queue="poor", job_class="", at="n2")
    ]
    conf = plugins(
        "gang", "predicates", "proportion", "nodeorder", "counting", actions=("allocate", "reclaim")
    )
    world = World(
        queue("poor"), queue("rich"), CLASSES, node("n1", cpu=80), node("n2", cpu=20, labels={"at": "n2"}),
        kept(20 - free, on="n2"), running("r", 20, cpu=4, in_queue="rich", on="n1"), jobs, conf=conf,
    )  # fmt: skip
    Counting.asked = 0
    decisions = world.session()
    assert (decisions.evictions, decisions.left_out) == ((), ())
    return Counting.asked


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugin_registry.REGISTRY, "counting", Counting)


@pytest.mark.usefixtures("counting")
def test_what_others_could_give_is_found_out_once_for_all_who_ask() -> None:
    assert asked_for(9, free=19, milli=10_000) == asked_for(3, free=19, milli=10_000) > 0


@pytest.mark.usefixtures("counting")
def test_queues_that_have_nothing_to_give_are_not_gone_through() -> None:
    assert asked_for(1, free=9, milli=5_000) == 0, "there is enough for all; it is only elsewhere"


@pytest.mark.usefixtures("counting")
def test_a_preemptor_that_cannot_fit_is_not_simulated() -> None:
    assert asked_for(1, free=4, milli=10_000) == 0


def attempts_of(world: World, *, helped: bool, moves: int = 0) -> tuple[list[str], list[str]]:
    """All jobs of a session, and those that were tried, each taking so many pods off nodes."""
    snapshot = world.snapshot()
    session = Session(snapshot, Framework(world.conf, plugin_registry.REGISTRY), world.now)
    preemption_attempts = PreemptionAttempts(session, _key)
    tried: list[str] = []
    for job in preemption_attempts.among(snapshot.groups):
        session.cached(Simulations).count(moves)
        preemption_attempts.tried(job, helped=helped)
        tried.append(job.key)
    return [group.key for group in snapshot.groups], tried


def test_over_time_every_preemptor_is_tried_within_the_bound() -> None:
    world = World(queue(), nodes(1), [obj for n in range(99) for obj in gang(f"j{n:02}", 1)])
    seen: dict[str, None] = {}
    for _ in range(6):
        preemptors, tried = attempts_of(world, helped=False)
        assert len(tried) == len(set(tried)) == TRIED_MAX
        assert tried[:FAILED_MAX] == preemptors[:FAILED_MAX]
        seen |= dict.fromkeys(tried)
    assert len(seen) == 99


@pytest.mark.parametrize("count", [60, 61, 64, 70])
def test_expensive_attempts_are_fewer_and_every_preemptor_has_one(count: int) -> None:
    world = World(queue(), nodes(1), [obj for n in range(count) for obj in gang(f"j{n:02}", 1)])
    seen: dict[str, None] = {}
    for _ in range(count):
        preemptors, tried = attempts_of(world, helped=False, moves=FAILED_REMOVALS_MAX // 4)
        assert tried[:4] == preemptors[:4]
        assert len(tried) == len(set(tried)) == 4 + 1
        seen |= dict.fromkeys(tried)
    assert len(seen) == count


def test_one_of_those_behind_is_tried_whatever_it_costs() -> None:
    world = World(queue(), nodes(1), [obj for n in range(9) for obj in gang(f"j{n:02}", 1)])
    _, tried = attempts_of(
        world, helped=False, moves=10 * (FAILED_REMOVALS_MAX + ROTATED_REMOVALS_MAX)
    )
    assert len(tried) == 2


def test_trials_that_help_may_cost_what_they_cost() -> None:
    world = World(queue(), nodes(1), [obj for n in range(9) for obj in gang(f"j{n:02}", 1)])
    preemptors, tried = attempts_of(world, helped=True, moves=FAILED_REMOVALS_MAX)
    assert tried == preemptors


def test_no_preemptor_is_skipped_while_attempts_succeed() -> None:
    world = World(queue(), nodes(1), [obj for n in range(99) for obj in gang(f"j{n:02}", 1)])
    preemptors, tried = attempts_of(world, helped=True)
    assert tried == preemptors[:TRIED_MAX]


def _key(group: GroupRow) -> tuple[object, ...]:
    return (group.key,)
