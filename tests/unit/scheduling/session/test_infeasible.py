"""Infeasible gangs: one that can never start says so first, whichever check refused it."""

from collections.abc import Sequence

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.scenarios.scenario import plugins
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Reason, Stage
from vc.model.api.meta import ApiObject
from vc.scheduling.conf.model import PluginConf


def first_reason(*objects: ApiObject | Sequence[ApiObject], name: str = "big") -> Reason:
    return reason_of(World(*objects).session(), name)


def test_a_gang_larger_than_its_queues_capability_can_never_start() -> None:
    reason = first_reason(
        queue("team", capability={"cpu": "4"}),
        nodes(4, cpu=8),
        gang("big", 6, queue="team", phase="Pending", min_resources={"cpu": "6"}, cpu=1),
    )
    assert (reason.stage, reason.permanent) == (Stage.QUOTA, True)
    assert reason.sentence.startswith(
        "can never start in queue 'team': the gang needs cpu 6, and the capability of queue 'team' "
        "is cpu 4"
    )


def test_the_capability_of_an_ancestor_is_named_behind_the_overcommit_gate() -> None:
    reason = first_reason(
        queue("dept", capability={"cpu": "20"}),
        queue("team", parent="dept"),
        node("n", cpu=8),
        gang("big", 30, queue="team", phase="Pending", min_resources={"cpu": "30"}, cpu=1),
    )
    assert (reason.stage, reason.permanent) == (Stage.QUOTA, True)
    assert "the capability of queue 'dept' is cpu 20" in reason.sentence
    assert reason.unblock is not None
    assert (reason.unblock.action, reason.unblock.target) == ("raise-capability", "dept")
    assert reason.unblock.amounts == {"cpu": 10_000}


def test_without_hierarchy_ancestors_do_not_count() -> None:
    conf = plugins(
        "overcommit", PluginConf(name="proportion", switches={"hierarchy": False}), "predicates"
    )
    world = World(
        queue("dept", capability={"cpu": "2"}),
        queue("team", parent="dept"),
        node("n", cpu=8),
        gang("big", 4, queue="team", phase="Pending", min_resources={"cpu": "4"}, cpu=1),
        conf=conf,
    )
    assert world.decide().reasons == ()


def test_no_node_is_that_large_is_said_through_the_overcommit_stage_before_pods_exist() -> None:
    reason = first_reason(
        queue(),
        nodes(2, cpu=8),
        group("big", minimum=2, phase="Pending", min_resources={"cpu": "32"}),
    )
    assert (reason.stage, reason.permanent) == (Stage.PREDICATE, True)
    assert reason.sentence == (
        "no node is that large: a pod needs cpu 16, and the largest node has 8"
    )


def test_no_node_is_that_large_is_said_of_pods_that_exist() -> None:
    reason = first_reason(queue(), node("a", cpu=8), node("b", cpu=4), gang("big", 1, cpu=12))
    assert reason.permanent
    assert reason.sentence.startswith(
        "no node is that large: a pod needs cpu 12, and the largest node has 8; 0 of the "
    )


def test_a_gang_larger_than_all_nodes_together_can_never_start() -> None:
    reason = first_reason(
        queue(),
        nodes(2, cpu=8),
        group("big", minimum=6, phase="Pending", min_resources={"cpu": "24"}),
    )
    assert (reason.stage, reason.permanent) == (Stage.GANG, True)
    assert "the gang needs cpu 24, and all nodes together have 16" in reason.sentence


def test_a_gang_that_fits_on_no_empty_node_says_so_behind_overcommit() -> None:
    reason = first_reason(
        queue(),
        nodes(2, cpu=8),
        [pod("other", on="node-01", requests={"cpu": "6"}, scheduler="default-scheduler")],
        gang("big", 4, phase="Pending", min_resources={"cpu": "20"}, cpu=5),
    )
    assert (reason.stage, reason.permanent) == (Stage.GANG, True)
    assert "even if they were empty they could run 2 of the 4 pods" in reason.sentence


@pytest.mark.parametrize("away", ["ready", "cordoned"])
def test_a_node_that_may_come_back_makes_nothing_permanent(away: str) -> None:
    large = node("large", cpu=32, ready=away != "ready", unschedulable=away == "cordoned")
    reason = first_reason(queue(), node("small", cpu=8), large, gang("big", 1, cpu=16))
    assert not reason.permanent


def test_a_gang_that_waits_for_free_nodes_is_not_called_infeasible() -> None:
    world = World(queue(), node("n", cpu=8), gang("first", 1, age=9, cpu=6), gang("big", 1, cpu=4))
    reason = reason_of(world.session(), "big")
    assert not reason.permanent
    assert msgspec.structs.replace(reason, permanent=True) != reason
