"""Future idle: a gang that fits once terminating pods are gone keeps these resources from later jobs."""

from tests.unit.scheduling.objects import gang, nodes, pod, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.pod import Pod


def terminating(name: str, *, cpu: int, on: str) -> Pod:
    return pod(name, requests={"cpu": cpu}, on=on, deleting=True)


def test_a_gang_that_fits_after_terminating_pods_are_gone_waits_for_them() -> None:
    world = World(
        queue(), nodes(1, cpu=64), [terminating("old", cpu=60, on="node-01")], gang("g", 2, cpu=20)
    )
    world.session()
    assert world.bound("g") == 0
    world.delete_pod("old")
    world.session()
    assert world.bound("g") == 2


def test_a_later_job_does_not_take_what_the_gang_will_use() -> None:
    gone = terminating("old", cpu=40, on="node-01")
    world = World(
        queue(), nodes(1, cpu=64), [gone], gang("g", 3, cpu=20, age=9), gang("late", 1, cpu=20)
    )  # fmt: skip
    decisions = world.session()
    # 24 CPUs are free now, but the gang needs 60 of the 64 that are free later.
    assert (world.bound("g"), world.bound("late")) == (0, 0)
    assert reason_of(decisions, "late").stage is Stage.GANG
    world.delete_pod("old")
    world.session()
    assert (world.bound("g"), world.bound("late")) == (3, 0)


def test_a_job_beside_the_future_placement_of_the_gang_starts() -> None:
    gone = terminating("old", cpu=40, on="node-01")
    world = World(
        queue(), nodes(2, cpu=64), [gone, pod("busy", requests={"cpu": 40}, on="node-02")],
        gang("g", 3, cpu=20, age=9), gang("late", 1, cpu=20),
    )  # fmt: skip
    world.session()
    assert world.bound("late") == 1
