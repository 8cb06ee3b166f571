"""Clusters on which the core and the reference once decided differently; both must agree on them."""

from tests.properties.scheduler.test_reference import compare
from tests.unit.scheduler.objects import gang, group, node, pod, queue
from tests.unit.scheduler.world import World
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
