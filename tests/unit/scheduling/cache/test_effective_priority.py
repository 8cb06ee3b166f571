"""The lower priority of a pod group and its pods decides: a class on one of them alone gains nothing."""

import msgspec
import pytest

from tests.unit.scheduling.objects import group, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.scheduling.conf.model import Conf

EVICTING = Conf(actions=("enqueue", "allocate", "preempt", "backfill"))


def contest(*, pods_priority: int | None, victims: int = 100) -> World:
    """A gang of class `top` whose pods have another priority, and a full node."""
    return World(
        queue(), nodes(1, cpu=8), priority_class("top", 1000), priority_class("mid", victims),
        group("old", minimum=1, priority_class="mid", phase="Running"),
        pod("old-0", group="old", requests={"cpu": "8"}, on="node-01", priority=victims),
        group("new", minimum=1, priority_class="top"),
        pod("new-0", group="new", requests={"cpu": "8"}, priority=pods_priority),
        conf=EVICTING,
    )  # fmt: skip


@pytest.mark.parametrize("lower", [0, 99, 100])
def test_a_priority_class_on_the_group_alone_evicts_no_pod(lower: int) -> None:
    assert contest(pods_priority=lower).session().evictions == ()


@pytest.mark.parametrize("pods_priority", [101, 1000, 2000, None])
def test_pods_of_the_class_evict_as_before(pods_priority: int | None) -> None:
    """Without a number on the pods the API server does not know priorities, and the group's class holds."""
    assert len(contest(pods_priority=pods_priority).session().evictions) == 1


def test_a_new_leader_leaves_groups_alone_that_others_were_evicted_for() -> None:
    """What is freed for it must not be given to a later job."""
    world = contest(pods_priority=1000)
    known = world.group("new")
    spec = msgspec.structs.replace(known.spec, min_resources={"cpu": "8"})
    world.put(msgspec.structs.replace(known, spec=spec))
    assert len(world.session().evictions) == 1
    world.restart()
    world.session()
    assert world.group("new").status.phase == "Inqueue"
    world.leave()
    world.session()
    assert world.bound("new") == 1


def test_pods_of_a_higher_class_than_their_group_evict_no_pod() -> None:
    world = contest(pods_priority=1000)
    world.put(priority_class("top", 50))
    assert world.session().evictions == ()


def test_a_pod_that_is_done_lowers_nobodys_priority() -> None:
    world = contest(pods_priority=1000)
    world.put(pod("new-1", group="new", priority=0, phase="Failed"))
    assert len(world.session().evictions) == 1


def test_one_pod_of_a_high_class_does_not_carry_the_others() -> None:
    world = contest(pods_priority=1000)
    world.put(pod("new-1", group="new", requests={"cpu": "1"}, priority=0))
    assert world.session().evictions == ()


def test_an_annotation_is_no_priority_of_the_group() -> None:
    world = contest(pods_priority=0)
    said = pod(
        "new-0", group="new", requests={"cpu": "8"}, priority=0,
        annotations={"volcano.sh/task-priority": "1000"},
    )  # fmt: skip
    world.put(said)
    assert world.session().evictions == ()


def test_a_priority_class_on_the_group_alone_protects_no_pod() -> None:
    """The other way round: pods of a low class are victims of a higher one, whatever their group says."""
    world = World(
        queue(), nodes(1, cpu=8), priority_class("top", 1000), priority_class("mid", 100),
        group("evil", minimum=1, priority_class="top", phase="Running"),
        pod("evil-0", group="evil", requests={"cpu": "8"}, on="node-01", priority=0),
        group("good", minimum=1, priority_class="mid"),
        pod("good-0", group="good", requests={"cpu": "8"}, priority=100),
        conf=EVICTING,
    )  # fmt: skip
    assert len(world.session().evictions) == 1
