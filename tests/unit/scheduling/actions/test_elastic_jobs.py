"""Elastic jobs: surplus pods are placed after minimums, and are the first victims."""

import msgspec

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.pod import Pod

HIGH, LOW = priority_class("high", 100), priority_class("low", 1)


def ungate(waiting: Pod) -> Pod:
    spec = msgspec.structs.replace(waiting.spec, scheduling_gates=[])
    return msgspec.structs.replace(waiting, spec=spec)


def test_an_elastic_job_grows_as_nodes_become_free() -> None:
    world = World(queue(), nodes(1, cpu=4), gang("e", 6, minimum=1, cpu=2))
    world.session()
    assert world.bound("e") == 2
    world.put(node("node-02", cpu=6))
    world.session()
    assert world.bound("e") == 5
    assert world.session().reasons == (), "it runs: nothing is missing"


def test_two_elastic_jobs_of_two_queues_share_the_nodes() -> None:
    world = World(
        queue("a"), queue("b"), nodes(4, cpu=16),
        gang("x", 60, minimum=1, queue="a", cpu=1), gang("y", 60, minimum=1, queue="b", cpu=1),
    )  # fmt: skip
    world.session()
    assert world.bound("x") + world.bound("y") == 64
    assert abs(world.bound("x") - world.bound("y")) <= 8


def test_pods_beyond_the_minimum_are_the_first_victims_of_another_job() -> None:
    """Two gangs of one priority: the one that is larger gives, down to its minimum."""
    world = World(
        queue(), HIGH, LOW, nodes(1, cpu=8),
        gang("elastic", 6, minimum=2, priority_class="low", age=9, cpu=1),
        gang("whole", 2, priority_class="low", cpu=1),
    )  # fmt: skip
    world.session()
    world.put(*gang("urgent", 4, priority_class="high", cpu=1))
    victims = [p.name for e in world.session().evictions for p in e.pods]
    assert sorted(victims) == [f"elastic-worker-{n}" for n in (2, 3, 4, 5)]
    world.leave()
    world.session()
    assert (world.bound("urgent"), world.bound("elastic"), world.bound("whole")) == (4, 2, 2)


def test_pods_beyond_the_minimum_are_the_first_to_be_reclaimed() -> None:
    world = World(
        queue("a"), queue("b"), nodes(1, cpu=8),
        gang("elastic", 5, minimum=1, queue="a", age=9, cpu=1),
        gang("whole", 3, queue="a", cpu=1),
    )  # fmt: skip
    world.session()
    world.put(*gang("mine", 4, queue="b", cpu=1))
    victims = [p.name for e in world.session().evictions for p in e.pods]
    assert sorted(victims) == [f"elastic-worker-{n}" for n in (1, 2, 3, 4)]
    world.leave()
    world.session()
    assert (world.bound("mine"), world.bound("elastic"), world.bound("whole")) == (4, 1, 3)


def test_surplus_pods_return_when_nodes_are_free_again() -> None:
    world = World(
        queue(), HIGH, LOW, nodes(1, cpu=4), gang("e", 4, minimum=1, priority_class="low", cpu=1)
    )
    world.session()
    world.put(*gang("urgent", 2, priority_class="high", cpu=1))
    world.session()
    gone = world.leave()
    world.session()
    assert (world.bound("e"), world.bound("urgent")) == (2, 2)
    world.put(*[pod(name, group="e", role="worker", requests={"cpu": "1"}) for name in gone])
    world.session()
    assert world.bound("e") == 2, "a job does not evict pods of a higher priority"
    world.finish_group("urgent")
    world.session()
    assert world.bound("e") == 4


def test_a_task_takes_the_place_of_a_lower_one_only_inside_its_own_job() -> None:
    worker = pod("w-0", group="j", role="worker", requests={"cpu": "4"}, on="node-01", priority=1)
    master = pod("m-0", group="k", role="master", requests={"cpu": "4"}, priority=10)
    world = World(
        queue(), nodes(1, cpu=4),
        [group("j", minimum=1, phase="Running"), worker, group("k", minimum=1), master],
    )  # fmt: skip
    assert world.session().evictions == ()


def test_the_lowest_task_of_the_job_goes_and_no_more_than_one_at_a_time() -> None:
    placed = [
        pod(f"{role}-0", group="j", role=role, requests={"cpu": "2"}, on="node-01", priority=at)
        for role, at in (("low", 1), ("middle", 5))
    ]
    asking = [
        pod(f"m-{n}", group="j", role="master", requests={"cpu": "2"}, priority=9) for n in (0, 1)
    ]
    world = World(
        queue(), nodes(1, cpu=4), [group("j", minimum=1, phase="Running"), *placed, *asking]
    )  # fmt: skip
    assert [p.name for e in world.session().evictions for p in e.pods] == ["low-0"]
    world.leave()
    world.session()
    assert sorted(world.where()) == ["m-0", "middle-0"]


def test_gated_pods_wait_and_go_when_the_gate_does() -> None:
    members = [pod(f"g-{n}", group="g", requests={"cpu": "1"}, gates=["later"]) for n in (0, 1)]
    world = World(queue(), nodes(1), [group("g", minimum=2), *members])
    reason = reason_of(world.session(), "g")
    assert (reason.stage, world.bound("g")) == (Stage.TASKS, 0)
    world.put(ungate(world.pod("g-0")))
    world.session()
    assert world.bound("g") == 0, "half a gang is no gang"
    world.put(ungate(world.pod("g-1")))
    world.session()
    assert world.bound("g") == 2


def test_gated_surplus_pods_keep_no_other_job_waiting() -> None:
    members = [pod(f"g-{n}", group="g", requests={"cpu": "1"}) for n in (0, 1)]
    later = pod("g-2", group="g", requests={"cpu": "1"}, gates=["later"])
    world = World(queue(), nodes(1), [group("g", minimum=2), *members, later])
    world.session()
    assert world.bound("g") == 2
    world.put(ungate(world.pod("g-2")))
    world.session()
    assert world.bound("g") == 3


def test_no_pod_is_evicted_for_gated_pods() -> None:
    world = World(
        queue(), HIGH, LOW, nodes(1, cpu=2), gang("low", 2, minimum=0, priority_class="low", cpu=1)
    )
    world.session()
    gated = [pod(f"g-{n}", group="g", requests={"cpu": "1"}, gates=["later"]) for n in (0, 1)]
    world.put(group("g", minimum=2, priority_class="high"), *gated)
    assert world.session().evictions == ()
