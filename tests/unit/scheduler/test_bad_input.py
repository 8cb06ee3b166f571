"""Bad input: the object is reported and left out, the session goes on."""

import msgspec
import pytest

from tests.unit.scheduler.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduler.world import World, reason_of
from vc_messages.sessions import Stage
from vc_model.node import Node, NodeStatus
from vc_model.struct import ResourceList
from vc_scheduler.logic.conf import Conf, PluginConf
from vc_scheduler.logic.cycle import UnknownActionError, check_conf
from vc_scheduler.logic.framework import UnknownPluginError
from vc_scheduler.logic.nodes import RESOURCES_MAX


def broken_node(allocatable: ResourceList) -> Node:
    return msgspec.structs.replace(node("broken"), status=NodeStatus(allocatable=allocatable))


@pytest.mark.parametrize(
    ("allocatable", "said"),
    [
        ({}, "no allocatable resources"),
        ({"cpu": "many"}, "'many' is not a quantity"),
        ({"cpu": "-4", "pods": "10"}, "cpu: -4 is out of range"),
        ({"cpu": "1e30", "pods": "10"}, "cpu: 1e30 is out of range"),
    ],
)
def test_a_node_that_cannot_be_used_is_reported_and_left_out(
    allocatable: ResourceList, said: str
) -> None:
    world = World(queue(), [broken_node(allocatable)], nodes(1), gang("g", 1, cpu=1))
    world.session()
    assert world.where() == {"g-worker-0": "node-01"}
    assert said in world.columns.problems["node broken"]
    world.put(node("broken"))
    assert "node broken" not in world.columns.problems


@pytest.mark.parametrize("amount", ["lots", "-1", "1e30", "", "1Zi"])
def test_a_pod_with_a_request_that_cannot_be_used_waits_alone(amount: str) -> None:
    bad = pod("bad-0", group="bad", requests={"cpu": amount})
    world = World(queue(), nodes(1), [group("bad", minimum=1), bad], gang("g", 1, cpu=1))
    reason = reason_of(world.session(), "bad")
    assert reason.stage is Stage.INVALID
    assert reason.sentence.startswith("cannot be used: pod bad-0: cpu: ")
    assert (world.bound("bad"), world.bound("g")) == (0, 1)
    assert "pod ns/bad-0" in world.columns.problems


def test_a_bound_pod_with_a_broken_request_counts_with_what_can_be_read() -> None:
    odd = pod("odd", requests={"cpu": "60", "memory": "much"}, on="node-01")
    world = World(queue(), nodes(1), [odd], gang("g", 1, cpu=10))
    world.decide()
    assert world.bound("g") == 0


def test_an_affinity_that_cannot_be_read_keeps_its_pod_waiting() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]
            }
        }
    }
    odd = pod("odd-0", group="odd", requests={"cpu": 1}, affinity=affinity)
    world = World(queue(), nodes(1), [group("odd", minimum=1), odd], gang("g", 1, cpu=1))
    assert "operator 'Near'" in reason_of(world.session(), "odd").sentence
    assert world.bound("g") == 1


def test_a_group_with_nonsense_waits_alone() -> None:
    negative = group("negative", minimum=-1, phase="Pending")
    unreadable = group("unreadable", minimum=1, phase="Pending", min_resources={"cpu": "x"})
    world = World(queue(), nodes(1), [negative, unreadable], gang("g", 1, cpu=1))
    decisions = world.session()
    assert reason_of(decisions, "negative").stage is Stage.INVALID
    assert reason_of(decisions, "unreadable").stage is Stage.INVALID
    assert world.bound("g") == 1


def test_a_queue_with_a_broken_capability_stops_only_itself() -> None:
    world = World(
        queue(),
        queue("odd", capability={"cpu": "some"}),
        nodes(1),
        gang("o", 1, cpu=1, queue="odd"),
        gang("g", 1, cpu=1),
    )
    decisions = world.session()
    assert reason_of(decisions, "o").stage is Stage.INVALID
    assert world.bound("g") == 1


def test_thousands_of_resource_names_do_not_widen_the_columns_without_bound() -> None:
    wide = pod(
        "wide", requests={f"example.com/r{n}": "1" for n in range(2 * RESOURCES_MAX)}, on="node-01"
    )
    world = World(queue(), nodes(1), [wide], gang("g", 1, cpu=1))
    decisions = world.decide()
    assert len(world.columns.nodes.resources) <= RESOURCES_MAX
    assert decisions.bound_pods == 1


def test_a_pod_that_asks_for_a_resource_beyond_the_bound_is_not_placed() -> None:
    wide = pod(
        "wide", requests={f"example.com/r{n}": "1" for n in range(2 * RESOURCES_MAX)}, on="node-01"
    )
    late = pod("late-0", group="late", requests={"example.com/late": "1"})
    world = World(queue(), nodes(1), [wide, late, group("late", minimum=1)])
    assert reason_of(world.decide(), "late").placeable_pods == 0


def test_a_configuration_that_names_what_is_not_there_says_what_is() -> None:
    with pytest.raises(UnknownPluginError, match="plugin 'gangs' is not known; there are binpack"):
        check_conf(Conf(tiers=((PluginConf(name="gangs"),),)))
    with pytest.raises(UnknownActionError, match="action 'alocate' is not known"):
        check_conf(Conf(actions=("alocate",)))


def test_nonsense_in_arguments_falls_back_to_the_default() -> None:
    arguments = {"leastrequested.weight": "heavy", "balancedresource.weight": "-3"}
    tiers = ((PluginConf(name="gang"), PluginConf(name="nodeorder", arguments=arguments)),)
    world = World(queue(), nodes(2), gang("g", 2, cpu=10), conf=Conf(tiers=tiers))
    world.session()
    assert len(set(world.where().values())) == 2
