"""PodScheduled=False on every waiting pod: written when it is due, and only when it changes."""

import msgspec

from tests.unit.scheduling.objects import EPOCH, group, node, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.scheduling.cache.overlays.pod_conditions import RETRY_SECONDS
from vc.scheduling.closing.unscheduled_pods import REWRITE_SECONDS, TASKS_GRACE_SECONDS
from vc.scheduling.conf.model import ActionConf, Conf
from vc.scheduling.model.decisions import Decisions, WaitingPods
from vc.scheduling.pod_status import POD_CONDITION_SECONDS

EIGHT = [f"g-{number}" for number in range(8)]


def fresh_gang(
    count: int = 8, *, minimum: int | None = None, cpu: int = 40, created: float = EPOCH
) -> list[ApiObject]:
    """A gang `g` whose pods were created when the world begins."""
    members = [
        pod(f"g-{n}", group="g", role="w", requests={"cpu": str(cpu)}, created=created)
        for n in range(count)
    ]
    return [group("g", minimum=count if minimum is None else minimum), *members]


def named(decisions: Decisions) -> list[str]:
    return [ref.name for waiting in decisions.waiting for ref in waiting.pods]


def later(world: World, seconds: float) -> Decisions:
    world.now += seconds
    return world.session()


def said(world: World, name: str) -> str:
    (condition,) = [c for c in world.pod(name).status.conditions if c.type == "PodScheduled"]
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    return condition.message


# -- which pods, and when ------------------------------------------------------------------------


def test_every_pod_of_a_waiting_gang_says_why_when_the_delay_ends() -> None:
    world = World(nodes(1), queue(), fresh_gang())
    first = world.session()
    assert first.waiting == ()
    assert first.wake_at == EPOCH + POD_CONDITION_SECONDS
    decisions = later(world, POD_CONDITION_SECONDS)
    assert named(decisions) == EIGHT
    (why,) = [job.reason.sentence for job in decisions.reasons]
    assert {said(world, name) for name in EIGHT} == {why}


def test_the_delay_is_a_setting() -> None:
    world = World(nodes(1), queue(), fresh_gang())
    world.cache.pod_condition_seconds = 30.0
    assert world.session().wake_at == EPOCH + 30
    assert later(world, 29).waiting == ()
    assert named(later(world, 1)) == EIGHT


def test_pods_that_are_placed_before_the_delay_ends_cost_nothing() -> None:
    world = World(nodes(8), queue(), fresh_gang())
    assert world.session().waiting == ()
    assert world.bound("g") == 8
    assert later(world, POD_CONDITION_SECONDS).waiting == ()


def test_pods_beyond_the_minimum_say_why_they_wait() -> None:
    world = World(nodes(3), queue(), fresh_gang(minimum=2))
    world.session()
    decisions = later(world, POD_CONDITION_SECONDS)
    assert named(decisions) == EIGHT[3:]
    assert decisions.waiting[0].beyond
    assert said(world, "g-5") == (
        "5 pods beyond the minimum of 2 wait: 0/3 nodes fit another: "
        "3 insufficient cpu (at most cpu 24 free on a node)"
    )


def test_pods_beyond_the_minimum_that_the_queue_refuses_name_the_queue() -> None:
    world = World(nodes(8), queue(capability={"cpu": "100"}), fresh_gang(minimum=2))
    world.session()
    later(world, POD_CONDITION_SECONDS)
    assert said(world, "g-7").startswith(
        "6 pods beyond the minimum of 2 wait: insufficient quota in queue 'default'"
    )


def test_pods_that_the_gang_needed_no_more_say_that_they_are_beyond_it() -> None:
    world = World(nodes(1), queue(), fresh_gang(minimum=2))
    world.session()
    later(world, POD_CONDITION_SECONDS)
    assert "; 1 of the 2" in said(world, "g-7")
    world.put(node("node-02"))
    later(world, REWRITE_SECONDS)
    assert world.bound("g") == 2
    assert said(world, "g-7").startswith("6 pods beyond the minimum of 2 wait")


def test_pods_that_wait_on_purpose_for_the_minimums_of_others_are_not_unschedulable() -> None:
    arguments = {"surplusDelay": "1m"}
    conf = Conf(configurations=(ActionConf(name="allocate", arguments=arguments),))
    world = World(nodes(3), queue(), fresh_gang(minimum=2), conf=conf)
    world.session()
    decisions = later(world, POD_CONDITION_SECONDS)
    assert (world.bound("g"), decisions.waiting, decisions.wake_at) == (2, (), EPOCH + 60)
    assert named(later(world, 60)) == EIGHT[3:]


def test_pods_beyond_the_minimum_behind_a_job_of_a_fifo_queue_name_the_queue() -> None:
    earlier = [
        group("big", minimum=1, age=60),
        pod("big-0", group="big", requests={"cpu": "65"}, created=EPOCH),
    ]
    world = World(nodes(1), queue(fifo=True), fresh_gang(1))
    world.session()
    world.put(*earlier, pod("g-9", group="g", role="w", requests={"cpu": "1"}, created=EPOCH))
    later(world, POD_CONDITION_SECONDS)
    assert world.bound("g") == 1
    assert said(world, "g-9").endswith("queue 'default' is fifo, and a job before this one waits")


def test_a_pod_that_rests_after_a_failed_bind_says_why_like_the_others() -> None:
    world = World(nodes(8), queue(), fresh_gang())
    world.cache.unassume("ns/g-3", "pod-g-3", now=EPOCH + POD_CONDITION_SECONDS - 0.5)
    assert named(later(world, POD_CONDITION_SECONDS)) == [*EIGHT[:3], *EIGHT[4:], "g-3"]
    assert world.bound("g") == 0


def test_pods_of_a_gang_that_is_still_being_created_are_not_unschedulable() -> None:
    members = fresh_gang(3, created=EPOCH)
    world = World(nodes(8), queue(), members)
    short = world.group("g")
    world.put(
        msgspec.structs.replace(short, spec=msgspec.structs.replace(short.spec, min_member=5))
    )
    assert later(world, POD_CONDITION_SECONDS).waiting == ()
    world.now = EPOCH + TASKS_GRACE_SECONDS - 1
    world.put(pod("g-3", group="g", role="w", requests={"cpu": "40"}, created=world.now))
    assert later(world, 2).waiting == (), "another one came a moment ago"
    world.now = EPOCH + 2 * TASKS_GRACE_SECONDS - 1
    assert named(world.session()) == EIGHT[:4], "and no more come"


def test_pods_that_another_scheduler_places_are_left_alone() -> None:
    members = [
        pod(f"g-{n}", group="g", requests={"cpu": "400"}, scheduler="other", created=EPOCH)
        for n in range(2)
    ]
    world = World(nodes(1), queue(), [group("g", minimum=2), *members])
    assert later(world, 60).waiting == ()


# -- what is not written again -------------------------------------------------------------------


def test_nothing_is_rewritten_in_ten_minutes_in_which_nothing_changes() -> None:
    world = World(nodes(1), queue(), fresh_gang())
    world.session()
    later(world, POD_CONDITION_SECONDS)
    for _ in range(60):
        decisions = later(world, 10)
        assert (decisions.waiting, decisions.statuses, decisions.wake_at) == ((), (), None)


def test_numbers_that_change_reach_the_first_pod_and_no_other() -> None:
    world = World(nodes(1), queue(), fresh_gang())
    world.session()
    later(world, POD_CONDITION_SECONDS)
    world.put(node("node-02"))
    decisions = later(world, 60)
    assert named(decisions) == ["g-0"]
    assert "; 2 of the 8" in said(world, "g-0")
    assert "; 1 of the 8" in said(world, "g-1")


def test_another_kind_of_reason_reaches_all_pods_once_in_a_while() -> None:
    world = World(nodes(1), queue(), fresh_gang())
    world.session()
    later(world, POD_CONDITION_SECONDS)
    written_at = world.now
    waiting = WaitingPods(group="ns/g", uid="group-g", message=said(world, "g-0"), pods=())
    world.cache.overlays.conditions.put(waiting, now=written_at)  # as the shell does
    world.put(node("node-01", unschedulable=True))
    decisions = later(world, 60)
    assert named(decisions) == ["g-0"], "the first pod is written with its PodGroup"
    assert decisions.wake_at == written_at + REWRITE_SECONDS
    world.now = written_at + REWRITE_SECONDS
    assert named(world.session()) == EIGHT[1:]
    assert "cordoned" in said(world, "g-7")


def test_a_restarted_scheduler_reads_the_conditions_off_the_pods() -> None:
    world = World(nodes(1), queue(), fresh_gang())
    world.session()
    later(world, POD_CONDITION_SECONDS)
    world.restart()
    assert later(world, 60).waiting == ()


# -- the overlay ---------------------------------------------------------------------------------


def handed_over(world: World) -> Decisions:
    """A session whose conditions are decided and not written yet."""
    decisions = world.decide()
    for waiting in decisions.waiting:
        world.cache.overlays.conditions.put(waiting, now=world.now)
    return decisions


def marked_world() -> World:
    world = World(nodes(1), queue(), fresh_gang(2))
    world.now += POD_CONDITION_SECONDS
    assert named(handed_over(world)) == EIGHT[:2]
    return world


def test_what_was_decided_and_is_not_seen_is_not_decided_again() -> None:
    world = marked_world()
    assert handed_over(world).waiting == ()


def test_a_write_that_failed_is_decided_again_at_a_named_time() -> None:
    world = marked_world()
    world.cache.overlays.conditions.failed("pod-g-1", now=world.now)
    decisions = handed_over(world)
    assert decisions.waiting == ()
    assert decisions.wake_at == world.now + RETRY_SECONDS
    world.now += RETRY_SECONDS
    assert named(handed_over(world)) == ["g-1"]


def test_a_fact_older_than_our_write_does_not_bring_it_back() -> None:
    world = marked_world()
    world.cache.overlays.conditions.written("pod-g-1", "1000000")
    world.put(world.pod("g-1"))
    assert handed_over(world).waiting == ()


def test_a_condition_that_another_writer_removed_is_written_again() -> None:
    world = marked_world()
    world.cache.overlays.conditions.written("pod-g-1", "1")
    world.put(world.pod("g-1"))
    assert named(handed_over(world)) == ["g-1"]


def test_notes_of_pods_that_are_gone_are_dropped() -> None:
    world = marked_world()
    world.delete_pod("g-1")
    assert world.cache.overlays.conditions.messages("ns/g").keys() == {"pod-g-0"}
