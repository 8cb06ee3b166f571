"""Inqueue timeout: a group that cannot be placed returns to Pending and gives up its claim."""

import msgspec

from tests.unit.scheduling.objects import gang, group, node, nodes, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.scheduling.actions.inqueue_timeout import INQUEUE_SECONDS
from vc.scheduling.cache.overlays.enqueued import REST_SECONDS
from vc.scheduling.conf.model import Conf
from vc.scheduling.session.reasons import of_pods


def too_large() -> World:
    """`huge` is enqueued, because the cluster has enough together, and fits on no node."""
    return World(
        queue(capability={"cpu": "12"}), nodes(3, cpu=8),
        gang("huge", 1, phase="Pending", age=9, min_resources={"cpu": "10"}, cpu=10),
        gang("small", 1, phase="Pending", min_resources={"cpu": "4"}, cpu=4),
    )  # fmt: skip


def test_a_group_that_fits_nowhere_goes_back_and_lets_others_in() -> None:
    world = too_large()
    assert world.session().enqueued == ("ns/huge",)
    assert world.group("huge").status.phase == "Inqueue"
    world.now += 1
    waiting = world.session()
    assert waiting.wake_at is not None
    assert waiting.wake_at <= world.now + INQUEUE_SECONDS
    world.now += INQUEUE_SECONDS
    decisions = world.session()
    assert world.group("huge").status.phase == "Pending"
    reason = reason_of(decisions, "huge")
    assert (reason.stage, reason.code) == (Stage.OVERCOMMIT, "InqueueTimeout")
    assert decisions.enqueued == ("ns/small",)
    assert world.bound("small") == 1


def test_what_keeps_its_pods_from_nodes_is_a_field_of_the_reason() -> None:
    """Pods say that alone, however the sentence about the group is put."""
    world = too_large()
    before = reason_of(world.session(), "huge")
    world.now += INQUEUE_SECONDS + 1
    reason = reason_of(world.session(), "huge")
    assert before.inner is None
    assert reason.inner is not None
    assert reason.inner.sentence == before.sentence
    # Both begin with what can never fit; the group's reason names the timeout in between.
    never, _, misfit = reason.inner.sentence.partition("; ")
    assert reason.sentence.startswith(never)
    assert reason.sentence.endswith(misfit)
    assert (reason.code, reason.inner.code) == ("InqueueTimeout", before.code)
    reworded = msgspec.structs.replace(reason, sentence="it had its time")
    assert of_pods(reworded) == reason.inner.sentence
    (message,) = [c.message for c in world.pod("huge-worker-0").status.conditions]
    assert message == reason.inner.sentence


def test_it_stays_outside_for_a_rest_also_after_a_restart() -> None:
    world = World(
        queue(), nodes(3, cpu=8),
        gang("huge", 1, phase="Pending", min_resources={"cpu": "10"}, cpu=10),
    )  # fmt: skip
    world.session()
    world.now += INQUEUE_SECONDS + 1
    world.session()
    assert world.group("huge").status.phase == "Pending"
    world.restart()
    world.now += 1
    resting = world.session()
    assert resting.statuses == (), "nothing new is written while it rests"
    assert resting.wake_at is not None
    assert resting.wake_at <= world.now + REST_SECONDS
    world.now += REST_SECONDS
    assert world.session().enqueued == ("ns/huge",)


def test_a_group_without_pods_that_is_let_in_again_has_its_whole_time() -> None:
    """Whoever makes its pods waits for that; a session in between does not send it back."""
    lonely = group("g", minimum=1, phase="", min_resources={"cpu": "1"})
    world = World(queue(), nodes(1, cpu=8), lonely)
    for seconds in (0, 10, INQUEUE_SECONDS, 1, REST_SECONDS):
        world.now += seconds
        world.session()
    assert world.group("g").status.phase == "Inqueue", "enqueued again"
    world.now += 1
    world.session()
    assert world.group("g").status.phase == "Inqueue"


def test_it_is_let_in_again_at_once_when_it_fits() -> None:
    world = too_large()
    world.session()
    world.now += INQUEUE_SECONDS + 1
    world.session()
    world.finish("small-worker-0")
    world.put(node("large", cpu=10))
    world.session()
    assert world.where()["huge-worker-0"] == "large"


def test_other_reasons_meanwhile_do_not_restart_the_timeout() -> None:
    world = too_large()
    world.session()
    since = world.group("huge").status.conditions[0].last_transition_time
    world.now += INQUEUE_SECONDS / 2
    world.put(*[node(f"node-0{n}", cpu=8, unschedulable=True) for n in (1, 2, 3)])
    world.session()
    assert world.group("huge").status.conditions[0].last_transition_time == since


def test_a_group_that_runs_or_holds_nothing_is_left_alone() -> None:
    world = World(
        queue(), nodes(1, cpu=8),
        gang("runs", 2, minimum=1, phase="Pending", min_resources={"cpu": "8"}, cpu=8),
        gang("plain", 1, phase="Pending", cpu=9),
    )  # fmt: skip
    world.session()
    world.now += INQUEUE_SECONDS + 1
    world.session()
    assert world.group("runs").status.phase == "Running"
    assert world.group("plain").status.phase == "Inqueue"


def test_without_the_action_enqueue_every_group_is_enqueued() -> None:
    world = World(
        queue(), nodes(1, cpu=8), gang("a", 1, phase="Pending", cpu=8),
        conf=Conf(actions=("allocate",)),
    )  # fmt: skip
    world.session()
    assert world.bound("a") == 1
    assert world.group("a").status.phase == "Running"
