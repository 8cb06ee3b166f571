"""Gang placement: the whole minimum or nothing, in task order, with a reason when it does not fit."""

import msgspec
import pytest

from tests.unit.scheduling.actions.test_release import released_pods, runs
from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.scheduling.actions.release import GANG_RELEASE_SECONDS
from vc.scheduling.cache.overlays.assumed_binds import AssumedBind


def test_a_fragmented_gang_waits_with_numbers_and_starts_with_a_ninth_node() -> None:
    world = World(nodes(8), queue(), gang("big", 9, cpu=40))
    decisions = world.session()
    reason = reason_of(decisions, "big")
    assert world.where() == {}
    assert (reason.stage, reason.needed_pods, reason.placeable_pods) == (Stage.GANG, 9, 8)
    assert reason.permanent
    assert reason.sentence == (
        "can never start with these nodes: even if they were empty they could run 8 of the 9 pods "
        "that must start together; "
        "8 of the 9 pods of cpu 40 that must start together fit; 0/8 nodes fit another: "
        "8 insufficient cpu (at most cpu 24 free on a node); it starts when 1 more pod fits"
    )
    cpu = next(a for a in reason.amounts if a.resource == "cpu")
    assert (cpu.needed, cpu.available, cpu.missing) == (360_000, 512_000, 0)
    assert reason.unblock is not None
    assert (reason.unblock.pods, reason.unblock.amounts["cpu"]) == (1, 40_000)

    world.put(node("node-09"))
    world.session()
    assert world.bound("big") == 9
    assert len(set(world.where().values())) == 9


def test_of_two_gangs_that_do_not_fit_together_the_older_goes_first() -> None:
    world = World(nodes(2), queue(), gang("young", 3, cpu=40, age=1), gang("old", 2, cpu=40, age=9))
    world.put(node("node-03"))
    decisions = world.session()
    assert (world.bound("old"), world.bound("young")) == (2, 0)
    assert reason_of(decisions, "young").placeable_pods == 1
    assert world.group("old").status.phase == "Running"

    world.finish_group("old")
    world.session()
    assert world.bound("young") == 3
    assert world.group("old").status.phase == "Completed"


def test_a_higher_priority_class_goes_first() -> None:
    world = World(
        nodes(1),
        queue(),
        priority_class("high", 100),
        gang("old", 1, cpu=64, age=9),
        gang("urgent", 1, cpu=64, priority_class="high"),
    )
    world.session()
    assert (world.bound("old"), world.bound("urgent")) == (0, 1)


def test_the_global_default_class_counts_for_groups_that_name_none() -> None:
    world = World(
        nodes(1),
        queue(),
        priority_class("low", 1),
        priority_class("usual", 10, default=True),
        gang("low", 1, cpu=64, priority_class="low", age=9),
        gang("plain", 1, cpu=64),
    )
    world.session()
    assert (world.bound("low"), world.bound("plain")) == (0, 1)


def test_a_gang_of_two_roles_is_whole_only_with_both() -> None:
    roles = {"ps": 1, "worker": 2}
    members = [pod("ps-0", group="j", role="ps", requests={"cpu": 60})]
    members += [
        pod(f"worker-{n}", group="j", role="worker", requests={"cpu": 10}) for n in range(2)
    ]
    world = World(nodes(1), queue(), [group("j", minimum=3, roles=roles)], members)
    decisions = world.session()
    assert world.where() == {}
    reason = reason_of(decisions, "j")
    assert (reason.needed_pods, reason.placeable_pods) == (3, 1), "of the whole gang"

    world.put(node("node-02"))
    world.session()
    assert world.bound("j") == 3


def test_a_task_without_its_pods_keeps_the_gang_waiting() -> None:
    members = [pod(f"w-{n}", group="j", role="worker", requests={"cpu": 1}) for n in range(4)]
    world = World(nodes(1), queue(), [group("j", minimum=3, roles={"ps": 1, "worker": 2})], members)
    reason = reason_of(world.session(), "j")
    assert (reason.stage, reason.code) == (Stage.TASKS, "NotEnoughPodsOfTask")
    assert reason.sentence == "0 of the 1 pods of task 'ps' that the gang needs exist"


def test_task_minimums_are_ignored_when_min_member_is_below_their_sum() -> None:
    members = [pod(f"w-{n}", group="j", role="worker", requests={"cpu": 1}) for n in range(2)]
    world = World(nodes(1), queue(), [group("j", minimum=2, roles={"ps": 2, "worker": 2})], members)
    world.session()
    assert world.bound("j") == 2


def test_pods_that_do_not_exist_yet_keep_the_gang_waiting() -> None:
    world = World(nodes(8), queue(), gang("j", 2, minimum=3, cpu=1))
    reason = reason_of(world.session(), "j")
    assert (reason.stage, reason.code) == (Stage.TASKS, "NotEnoughTasks")
    assert world.where() == {}


def test_a_gang_that_a_crash_left_half_bound_is_completed_before_other_jobs() -> None:
    half = gang("half", 4, cpu=30)
    world = World(nodes(2), queue(), half, gang("older", 1, cpu=60, age=99))
    for name, on in (("half-worker-0", "node-01"), ("half-worker-1", "node-01")):
        world.put(
            pod(name, group="half", role="worker", requests={"cpu": "30"}, on=on, phase="Pending")
        )
    world.session()
    assert (world.bound("half"), world.bound("older")) == (4, 0)


def test_a_half_bound_gang_whose_bound_member_runs_is_completed_before_other_jobs() -> None:
    world = World(
        nodes(1), queue(), gang("half", 2, cpu=40), runs("half-worker-0", cpu=40),
        gang("older", 1, cpu=64, age=99, phase="Pending"),
    )  # fmt: skip
    world.session()
    world.put(node("node-02"))
    world.session()
    assert (world.bound("half"), world.bound("older")) == (2, 0)


def test_a_bind_that_is_tried_again_does_not_put_the_release_off() -> None:
    world = World(nodes(1), queue(), gang("half", 2, cpu=20), runs("half-worker-0", cpu=20))
    world.snapshot()
    for _ in range(3):
        world.now += GANG_RELEASE_SECONDS / 3
        missing = AssumedBind(key="ns/half-worker-1", uid="pod-half-worker-1", node="node-01")
        world.cache.assume(missing)
        world.snapshot()
        world.cache.unassume(missing.key, missing.uid, now=world.now)
    assert released_pods(world.decide()) == ["half-worker-0"]


def test_a_gang_with_a_bind_in_doubt_is_not_yet_said_to_be_scheduled() -> None:
    world = World(nodes(1), queue(), gang("j", 2, cpu=20))
    for name in ("j-worker-0", "j-worker-1"):
        world.cache.assume(AssumedBind(key=f"ns/{name}", uid=f"pod-{name}", node="node-01"))
    (change,) = world.decide().statuses
    assert change.status.phase == "Running"
    assert [c.type for c in change.status.conditions] == []


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [("ps-0", "{'ps': 1, '': 1}"), ("w-1", "{'worker': 1, '': 1}")],
    ids=["without its only ps", "with one worker of two"],
)
def test_the_invariants_see_a_gang_that_is_bound_in_part(left_out: str, missing: str) -> None:
    members = [pod(f"w-{n}", group="j", role="worker", requests={"cpu": 1}) for n in range(2)]
    members.append(pod("ps-0", group="j", role="ps", requests={"cpu": 1}))
    world = World(nodes(1), queue(), group("j", minimum=3, roles={"ps": 1, "worker": 2}), members)
    decisions = world.decide()
    (whole,) = decisions.binds
    part = tuple(bind for bind in whole.binds if bind.name != left_out)
    assert len(part) == 2
    partial = msgspec.structs.replace(whole, binds=part)
    world.invariants.before()
    with pytest.raises(AssertionError, match="ns/j is partial") as caught:
        world.invariants.bound(msgspec.structs.replace(decisions, binds=(partial,)))
    assert missing in str(caught.value)


VOLCANO = "scheduling.volcano.sh/queue-allocation-gate"


@pytest.mark.parametrize(
    ("gates", "bound"),
    [([VOLCANO], 2), ([VOLCANO, "wait"], 0), (["wait"], 0)],
    ids=["volcano's own gate alone", "and another one", "only another one"],
)
def test_the_gate_of_the_queue_is_lifted_by_the_scheduler_that_binds(
    gates: list[str], bound: int
) -> None:
    members = [pod(f"g-{n}", group="g", requests={"cpu": 1}, gates=gates) for n in range(2)]
    world = World(nodes(1), queue(), group("g", minimum=2), members)
    decisions = world.session()
    assert world.bound("g") == bound
    assert all(bind.lifts_gate for gang_bind in decisions.binds for bind in gang_bind.binds)


def test_a_queue_without_quota_does_not_lift_the_gate_of_its_pods() -> None:
    gated = pod("g-0", group="g", requests={"cpu": 2}, gates=[VOLCANO])
    world = World(nodes(1), queue(capability={"cpu": "1"}), group("g", minimum=1), gated)
    assert reason_of(world.session(), "g").stage is Stage.QUOTA
    assert world.pod("g-0").spec.scheduling_gates
    world.put(queue(capability={"cpu": "2"}))
    world.session()
    assert world.bound("g") == 1


def test_surplus_pods_come_after_the_minimum_as_far_as_they_fit() -> None:
    world = World(nodes(1), queue(), gang("e", 6, minimum=2, cpu=20))
    decisions = world.session()
    assert world.bound("e") == 3
    assert decisions.reasons == ()
    assert world.group("e").status.phase == "Running"


def test_a_gang_goes_before_another_job_that_only_grows() -> None:
    world = World(
        nodes(1),
        queue(),
        gang("elastic", 6, minimum=1, cpu=20, age=9),
        gang("young", 2, cpu=20),
    )
    world.session()
    assert (world.bound("elastic"), world.bound("young")) == (1, 2)


def test_succeeded_members_count_for_the_gang() -> None:
    world = World(nodes(2), queue(), gang("j", 2, cpu=40))
    world.session()
    world.finish("j-worker-0")
    world.session()
    assert world.group("j").status.phase == "Running"
    assert (world.group("j").status.running, world.group("j").status.succeeded) == (1, 1)


def test_tasks_that_fit_make_up_for_those_that_do_not() -> None:
    """Three of any task are enough: one large pod and two small ones."""
    large = [pod(f"l-{n}", group="j", role="large", requests={"cpu": 40}) for n in range(3)]
    small = [pod(f"s-{n}", group="j", role="small", requests={"cpu": 10}) for n in range(3)]
    world = World(nodes(1), queue(), [group("j", minimum=3), *large, *small])
    world.session()
    assert sorted(world.where()) == ["l-0", "s-0", "s-1"]


def test_a_best_effort_pod_is_enough_where_one_of_any_task_is() -> None:
    worker = pod("w-0", group="j", role="worker", requests={"cpu": 65})
    idle = pod("i-0", group="j", role="idle")
    world = World(nodes(1), queue(), [group("j", minimum=1), worker, idle])
    world.session()
    assert sorted(world.where()) == ["i-0"]
