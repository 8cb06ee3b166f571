"""Clusters on which the core and the reference once decided differently; both must agree on them."""

from tests.properties.scheduling.test_reference import compare
from tests.unit.scheduling.objects import gang, group, node, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.scheduling.model.decisions import Decisions


def bound(decisions: Decisions) -> list[str]:
    return sorted(bind.name for gang_bind in decisions.binds for bind in gang_bind.binds)


def gated(name: str) -> list[ApiObject]:
    """An older job all of whose pods wait behind gates."""
    pods = [pod(f"{name}-{n}", group=name, requests={"cpu": "1"}, gates=["wait"]) for n in range(2)]
    return [group(name, minimum=1, age=9), *pods]


def test_a_gated_job_keeps_its_position_in_a_fifo_queue() -> None:
    world = World(node("n"), queue(fifo=True), gated("first"), gang("later", 1, cpu=1))
    assert bound(compare(world)) == []


def test_a_gated_job_is_passed_in_other_queues() -> None:
    world = World(node("n"), queue(), gated("first"), gang("later", 1, cpu=1))
    assert bound(compare(world)) == ["later-worker-0"]


def test_a_job_without_a_minimum_does_not_pass_a_gated_job_either() -> None:
    world = World(
        node("n"),
        queue(fifo=True),
        gated("first"),
        gang("later", 2, minimum=0, cpu=1),
        surplus_delay="500ms",
    )
    assert bound(compare(world)) == []


def test_nothing_is_placed_in_root() -> None:
    world = World(
        node("n"),
        queue("root"),
        queue(parent="root"),
        gang("above", 1, queue="root", cpu=1),
        gang("below", 1, cpu=1),
    )
    assert bound(compare(world)) == ["below-worker-0"]


def best_effort(name: str) -> list[ApiObject]:
    return [group(name, minimum=1), pod(f"{name}-0", group=name, role="w")]


def test_a_best_effort_job_waits_behind_a_job_that_does_not_fit() -> None:
    """Whatever the first reason is: here its queue has too little left, and one of its pods is gated."""
    first = gang("first", 2, minimum=3, age=9, cpu=2)
    behind_a_gate = pod("first-worker-2", group="first", role="worker", gates=["wait"])
    world = World(
        node("n"),
        queue(fifo=True, capability={"cpu": "3"}),
        first,
        behind_a_gate,
        best_effort("later"),
    )
    assert bound(compare(world)) == []


def test_a_best_effort_job_passes_it_in_other_queues() -> None:
    world = World(
        node("n"),
        queue(capability={"cpu": "3"}),
        gang("first", 2, age=9, cpu=2),
        best_effort("later"),
    )
    assert bound(compare(world)) == ["later-0"]
