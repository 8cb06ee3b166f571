"""Guarantees: a queue gets its guarantee when its jobs arrive, whichever jobs were placed before."""

import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.scenarios.scenario import plugins
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage

KEPT = queue("kept", guarantee={"cpu": "4"})


def test_two_queues_together_do_not_take_what_a_third_is_guaranteed() -> None:
    world = World(
        queue("a"), queue("b"), KEPT, nodes(1, cpu=10),
        gang("a1", 1, queue="a", cpu=5), gang("b1", 1, queue="b", cpu=5),
    )  # fmt: skip
    decisions = world.session()
    assert (world.bound("a1"), world.bound("b1")) == (1, 0)
    reason = reason_of(decisions, "b1")
    assert reason.stage is Stage.QUOTA
    assert reason.sentence == (
        "what is left of the cluster is guaranteed to other queues: requested cpu 5, available 1"
    )
    assert reason.unblock is not None
    assert reason.unblock.amounts == {"cpu": 4_000}
    world.put(node("more", cpu=4), node("for-b1", cpu=5))
    world.session()
    assert world.bound("b1") == 1


def test_the_queue_itself_takes_it() -> None:
    world = World(
        queue("a"), KEPT, nodes(1, cpu=8),
        gang("a1", 1, queue="a", cpu=4), gang("k1", 1, queue="kept", cpu=4),
    )  # fmt: skip
    world.session()
    assert (world.bound("a1"), world.bound("k1")) == (1, 1)


def test_a_guarantee_below_counts_for_the_queue_above_and_within_its_capability() -> None:
    world = World(
        queue("dept", capability={"cpu": "8"}),
        queue("x", parent="dept", guarantee={"cpu": "4"}),
        queue("y", parent="dept"),
        queue("z", parent="dept"),
        nodes(1, cpu=64),
        gang("y1", 1, queue="y", cpu=3),
        gang("z1", 1, queue="z", cpu=3),
    )
    decisions = world.session()
    assert world.bound("y1") + world.bound("z1") == 1
    waiting = "z1" if world.bound("y1") else "y1"
    assert "of the capability of queue 'dept'" in reason_of(decisions, waiting).sentence
    world.put(*gang("x1", 1, queue="x", cpu=4))
    world.session()
    assert world.bound("x1") == 1


def test_more_than_there_is_guaranteed_keeps_only_the_others_away() -> None:
    world = World(
        queue("a"), queue("huge", guarantee={"cpu": "100"}), nodes(1, cpu=8),
        gang("a1", 1, queue="a", cpu=1), gang("h1", 1, queue="huge", cpu=8),
    )  # fmt: skip
    world.session()
    assert (world.bound("a1"), world.bound("h1")) == (0, 1)


def test_pods_outside_of_queues_are_not_counted_twice() -> None:
    alone = pod("alone", requests={"cpu": "4"}, on="node-01", scheduler="default-scheduler")
    world = World(queue("a"), KEPT, nodes(1, cpu=10), [alone], gang("a1", 1, queue="a", cpu=2))
    world.put(*gang("a2", 1, queue="a", cpu=1))
    world.session()
    assert (world.bound("a1") + world.bound("a2")) >= 1
    assert world.bound("a1") * 2 + world.bound("a2") <= 2


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
def test_a_job_that_needs_nothing_of_it_is_let_in_when_its_queue_has_too_much(plugin: str) -> None:
    """Both of the queue and of the cluster, one of whose nodes is gone."""
    world = World(
        queue(capability={"cpu": "4"}), node("n", cpu=8), node("gone", cpu=9, ready=False),
        group("old", minimum=1, phase="Running"),
        pod("old-0", group="old", requests={"cpu": "8"}, on="n"),
        pod("more", requests={"cpu": "9"}, on="n", scheduler="default-scheduler"),
        group("late", minimum=1, phase="Pending", min_resources={"cpu": "0", "memory": "1Gi"}),
        conf=plugins("overcommit", "predicates", plugin, "nodeorder"),
    )  # fmt: skip
    assert world.decide().enqueued == ("ns/late",)


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
def test_a_pod_is_refused_for_what_it_asks_for_and_not_for_what_its_queue_has_too_much_of(
    plugin: str,
) -> None:
    """`a` had eight CPUs before `b` was guaranteed four of the ten; its next pod asks for memory alone."""
    world = World(
        queue("a"), queue("b", guarantee={"cpu": "4", "memory": "4Gi"}),
        node("n", cpu=10, memory="10Gi"),
        group("old", minimum=1, queue="a", phase="Running"),
        pod("old-0", group="old", requests={"cpu": "8"}, on="n"),
        group("late", minimum=1, queue="a"),
        pod("late-0", group="late", requests={"memory": "7Gi"}),
        conf=plugins("overcommit", "predicates", plugin, "nodeorder"),
    )  # fmt: skip
    decisions = world.session()
    assert decisions.left_out == ()
    reason = reason_of(decisions, "late")
    assert reason.stage is Stage.QUOTA
    assert [amount.resource for amount in reason.amounts] == ["memory"]
    world.put(node("more", cpu=1, memory="9Gi"))
    world.session()
    assert world.bound("late") == 1
