"""Whom others pass: fifo queues, and nodes that are filled up."""

import pytest

from tests.unit.scheduler.objects import gang, node, nodes, queue
from tests.unit.scheduler.world import World, reason_of
from vc_messages.sessions import Stage
from vc_scheduler.logic.conf import Conf, PluginConf


@pytest.mark.parametrize("fifo", [True, False])
def test_a_fifo_queue_lets_nobody_pass(fifo: bool) -> None:
    world = World(
        queue(fifo=fifo),
        nodes(1, cpu=8),
        gang("large", 1, age=9, cpu=9),
        gang("small", 1, age=1, cpu=1),
    )
    decisions = world.session()
    assert world.bound("small") == (0 if fifo else 1)
    if fifo:
        reason = reason_of(decisions, "small")
        assert reason.stage is Stage.ORDER
        assert reason.sentence == "its queue is fifo and ns/large waits before it"
        world.put(node("larger", cpu=9))
        world.session()
        assert (world.bound("large"), world.bound("small")) == (1, 1)


@pytest.mark.parametrize("fifo", [True, False])
def test_a_fifo_queue_lets_in_one_after_the_other(fifo: bool) -> None:
    world = World(
        queue(fifo=fifo),
        nodes(1, cpu=8),
        gang("large", 1, age=9, phase="Pending", cpu=99, min_resources={"cpu": "99"}),
        gang("small", 1, age=1, phase="Pending", cpu=1, min_resources={"cpu": "1"}),
    )
    decisions = world.session()
    assert decisions.enqueued == (() if fifo else ("ns/small",))


def test_other_queues_go_on_beside_a_fifo_queue() -> None:
    world = World(
        queue(fifo=True), queue("b"), nodes(1, cpu=8),
        gang("large", 1, age=9, cpu=9), gang("small", 1, queue="b", cpu=1),
    )  # fmt: skip
    world.session()
    assert world.bound("small") == 1


def test_binpack_fills_nodes_with_gpus_up_by_default() -> None:
    tiers = ((PluginConf(name="gang"), PluginConf(name="predicates"), PluginConf(name="binpack")),)
    there = gang("there", 1, cpu=1, gpu=4)
    world = World(
        queue(), [node("a", gpu=8, cpu=8), node("b", gpu=8, cpu=8)], there, conf=Conf(tiers=tiers)
    )
    world.session()
    world.put(*gang("more", 2, cpu=1, gpu=2))
    world.session()
    assert set(world.where().values()) == {"a"}
