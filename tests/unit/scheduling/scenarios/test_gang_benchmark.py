"""Jobs of 2 ps and 4 workers where only one fits at a time: with gangs all finish, without gangs none does."""

import pytest

from tests.unit.scheduling.objects import group, nodes, pod, queue
from tests.unit.scheduling.scenarios.gangs import training
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.scheduling.conf.model import Conf

SIZE = 6
SESSIONS_MAX = 40
WITHOUT_GANG = Conf(
    tiers=tuple(tuple(p for p in tier if p.name != "gang") for tier in Conf().tiers)
)


def alone(name: str) -> list[ApiObject]:
    """The same pods, each of which may start without the others."""
    head, *pods = training(name)
    del head
    return [group(name, minimum=1), *pods]


def run(world: World, names: list[str]) -> list[str]:
    """Sessions; a job of which all pods run ends before the next one. Who ended, in order."""
    ended: list[str] = []
    for _ in range(SESSIONS_MAX):
        world.session()
        for name in names:
            if name not in ended and world.bound(name) == SIZE:
                world.finish_group(name)
                ended.append(name)
        world.now += 1
    return ended


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_jobs_end_one_after_the_other(count: int) -> None:
    names = [f"tf-{n}" for n in range(count)]
    jobs = [training(name, age=count - n) for n, name in enumerate(names)]
    world = World(queue(), nodes(2, cpu=3), *jobs)
    assert run(world, names) == names


@pytest.mark.parametrize(
    "conf", [Conf(), WITHOUT_GANG], ids=["minAvailable 1", "without the plugin gang"]
)
@pytest.mark.parametrize("count", [2, 5])
def test_without_gangs_they_hold_what_the_others_need(count: int, conf: Conf) -> None:
    names = [f"tf-{n}" for n in range(count)]
    world = World(queue(), nodes(2, cpu=3), *map(alone, names), conf=conf)
    assert run(world, names) == []
    held = [world.bound(name) for name in names]
    assert sum(held) == SIZE, "the nodes are full"
    assert max(held) < SIZE, "and no gang is whole"


def test_without_gangs_a_job_that_is_alone_ends() -> None:
    world = World(queue(), nodes(2, cpu=3), alone("tf"))
    assert run(world, ["tf"]) == ["tf"]


def test_resources_of_partial_gangs_are_counted() -> None:
    """A gang that waits holds nothing: a small job runs beside it."""
    small = [group("small", minimum=1), pod("small-0", group="small", requests={"cpu": "1"})]
    world = World(queue(), nodes(1, cpu=5), training("tf", age=9), small)
    world.session()
    assert (world.bound("tf"), world.bound("small")) == (0, 1)
