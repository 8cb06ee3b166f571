"""Nominations (nominatedNodeName): nodes reserved for a preemptor are used by no other job, even of the same name."""

import msgspec

from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import group, node, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api import kinds
from vc.model.api.meta import ApiObject


def with_nomination() -> World:
    """Both pods of `a` end for `p`."""
    world = World(queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(cpu=8))
    assert len(world.session().evictions) == 1
    return world


def again(*, job_class: str = "low") -> list[ApiObject]:
    """Another job of the same name and shape."""
    head = group("p", minimum=1, priority_class=job_class)
    metadata = msgspec.structs.replace(head.metadata, uid="group-p-again")
    head = msgspec.structs.replace(head, metadata=metadata)
    member = pod("p-1", group="p", requests={"cpu": "8"})
    return [head, member]


def test_a_nomination_ends_with_its_job() -> None:
    world = with_nomination()
    world.delete_pod("p-0")
    world.delete(kinds.PODGROUPS, "ns/p")
    assert world.cache.overlays.evictions.nominated() == {}


def test_another_job_of_the_same_name_inherits_nothing() -> None:
    """The end of the first one was not observed; a job before the second in job order uses the node."""
    world = with_nomination()
    world.delete_pod("p-0")
    world.put(*again())
    world.put(group("first", minimum=1, priority_class="low", age=99))
    world.put(pod("first-0", group="first", requests={"cpu": "8"}))
    world.leave()
    assert [gang.group for gang in world.decide().binds] == ["ns/first"]


def test_nor_does_it_wait_as_if_it_had_others_evicted_just_now() -> None:
    world = with_nomination()
    world.delete_pod("p-0")
    world.put(*again(job_class="high"))
    world.put(node("node-02", cpu=8), *running("b", 2, on="node-02", age=9))
    world.put(node("node-01", cpu=8, unschedulable=True))
    assert [p.name for e in world.session().evictions for p in e.pods] != []


def test_a_new_leader_knows_the_job_of_each_nomination() -> None:
    world = with_nomination()
    world.restart()
    world.snapshot()
    assert [
        nomination.uid for nomination in world.cache.overlays.evictions.nominated().values()
    ] == ["group-p"]
