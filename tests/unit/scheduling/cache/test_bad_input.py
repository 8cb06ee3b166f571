"""Bad input: the object is reported and left out, the session goes on."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.storage import claim, drivers, storage_class, volume
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api import kinds
from vc.model.api.kubernetes import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from vc.model.api.meta import ObjectMeta
from vc.model.api.node import Node, NodeStatus
from vc.model.api.pod import ClaimReference, Volume
from vc.model.api.selectors import LabelSelector, LabelSelectorRequirement
from vc.model.api.struct import ResourceList
from vc.scheduling.cache.amount_columns import RESOURCES_MAX
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.cycle import UnknownActionError, check_conf
from vc.scheduling.framework.registry import UnknownPluginError


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
    assert said in world.cache.problems["node broken"]
    world.put(node("broken"))
    assert "node broken" not in world.cache.problems


@pytest.mark.parametrize("amount", ["lots", "-1", "1e30", "", "1Zi"])
def test_a_pod_with_a_request_that_cannot_be_used_waits_alone(amount: str) -> None:
    bad = pod("bad-0", group="bad", requests={"cpu": amount})
    world = World(queue(), nodes(1), [group("bad", minimum=1), bad], gang("g", 1, cpu=1))
    reason = reason_of(world.session(), "bad")
    assert reason.stage is Stage.INVALID
    assert reason.sentence.startswith("cannot be used: pod bad-0: cpu: ")
    assert (world.bound("bad"), world.bound("g")) == (0, 1)
    assert "pod ns/bad-0" in world.cache.problems


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
    assert len(world.cache.facts.nodes.amounts.resources) <= RESOURCES_MAX
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


@pytest.mark.parametrize(
    ("parent", "why"),
    [
        ("absent", "its parent 'absent' does not exist"),
        ("odd", "its parent 'odd' is below it"),
        ("loop", "its parent 'loop' is below it"),
        ("x" * 300, f"its parent '{'x' * 64}' does not exist"),
    ],
    ids=["missing", "itself", "below it", "a long name"],
)
def test_a_queue_whose_parent_is_missing_or_above_itself_is_reported_and_left_out(
    parent: str, why: str
) -> None:
    loop = queue("loop", parent="odd")
    for tiers in (Conf().tiers, ((PluginConf(name="gang"), PluginConf(name="capacity")),)):
        world = World(
            queue(), queue("odd", parent=parent), loop, nodes(1), gang("o", 1, cpu=1, queue="odd"),
            gang("g", 1, cpu=1), conf=Conf(tiers=tiers),
        )  # fmt: skip
        decisions = world.session()
        assert (world.bound("o"), world.bound("g")) == (0, 1)
        assert reason_of(decisions, "o").sentence == f"cannot be used: queue 'odd': {why}"
        assert world.cache.problems["queue odd"] == why
        world.put(queue("odd"))
        world.session()
        assert world.bound("o") == 1
        assert "queue odd" not in world.cache.problems


def test_a_parent_that_comes_or_goes_later_is_noticed() -> None:
    world = World(queue("team", parent="dept"), nodes(1), gang("g", 1, cpu=1, queue="team"))
    world.session()
    assert world.bound("g") == 0
    world.put(queue("dept"))
    world.session()
    assert (world.bound("g"), world.cache.problems) == (1, {})
    world.delete(kinds.QUEUES, "dept")
    assert "does not exist" in world.cache.problems["queue team"]


def test_queues_below_root_do_not_wait_for_it() -> None:
    world = World(queue("team", parent="root"), nodes(1), gang("g", 1, cpu=1, queue="team"))
    world.session()
    assert (world.bound("g"), world.cache.problems) == (1, {})


def test_claims_in_a_circle_of_queues_count_once() -> None:
    """Jobs that were enqueued before a user made a circle of their queues."""
    inside = group("in", minimum=1, queue="a", phase="Inqueue", min_resources={"cpu": "70"})
    asking = group("new", minimum=1, phase="Pending", min_resources={"cpu": "10"})
    world = World(queue(), queue("a", parent="b"), queue("b", parent="a"), nodes(1), inside, asking)
    assert reason_of(world.session(), "new").stage is Stage.OVERCOMMIT


def test_resource_names_beyond_the_maximum_are_reported() -> None:
    many = {f"example.com/r{n:03}": "1" for n in range(RESOURCES_MAX)}
    full = node("full")
    status = msgspec.structs.replace(full.status, allocatable={**full.status.allocatable, **many})
    world = World(queue(), msgspec.structs.replace(full, status=status), gang("g", 1, cpu=1))
    assert "more than 256 resource names, left out" in world.cache.problems["node full"]
    world.session()
    assert world.bound("g") == 1, "the rest of it is used"


def test_what_was_wrong_with_a_pod_is_forgotten_with_it() -> None:
    world = World(queue(), nodes(1), pod("bad-0", group="bad", requests={"cpu": "lots"}))
    assert "pod ns/bad-0" in world.cache.problems
    world.delete_pod("bad-0")
    assert world.cache.problems == {}


@pytest.mark.parametrize("number", [-(2**31), -1, 0, 2**31 - 1])
def test_weights_and_priorities_of_any_size_are_taken(number: int) -> None:
    odd = queue("odd", weight=number, priority=number)
    world = World(
        queue(), odd, priority_class("odd", number), nodes(1, cpu=2),
        gang("o", 1, cpu=1, queue="odd", priority_class="odd"), gang("g", 1, cpu=1),
    )  # fmt: skip
    world.session()
    assert (world.bound("o"), world.bound("g")) == (1, 1)


@pytest.mark.parametrize("amount", ["-1", "1e30", "lots", "", "0"])
def test_amounts_of_queues_that_cannot_be_used_stop_only_their_jobs(amount: str) -> None:
    odd = queue("odd", deserved={"cpu": amount}, guarantee={"cpu": amount})
    world = World(queue(), odd, nodes(1), gang("o", 1, cpu=1, queue="odd"), gang("g", 1, cpu=1))
    decisions = world.decide()
    assert "ns/g" in [gang_bind.group for gang_bind in decisions.binds]
    if amount != "0":
        assert reason_of(decisions, "o").stage is Stage.INVALID
        assert "queue odd" in world.cache.problems


@pytest.mark.parametrize("minimum", [2**31, 2**40, -5])
def test_a_minimum_of_no_sense_waits_alone(minimum: int) -> None:
    odd = [group("odd", minimum=minimum, phase="Pending")]
    world = World(queue(), nodes(1), odd, gang("g", 1, cpu=1))
    assert reason_of(world.session(), "odd").stage is Stage.INVALID
    assert world.bound("g") == 1


@pytest.mark.parametrize(
    "annotations",
    [
        {"volcano.sh/task-priority": "high"},
        {"volcano.sh/task-priority": "9" * 40},
        {"volcano.sh/task-index": "-1"},
        {"volcano.sh/task-index": "9" * 40},
        {"volcano.sh/preemptable": "perhaps"},
        {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "x" * 5000},
    ],
)
def test_broken_annotations_of_a_pod_are_left_out(annotations: dict[str, str]) -> None:
    odd = pod("odd", group="g", requests={"cpu": "1"}, annotations=annotations)
    world = World(queue(), nodes(1), [group("g", minimum=1), odd])
    world.session()
    assert world.bound("g") == 1


@pytest.mark.parametrize("tolerance", ["much", "-1", "nan", "inf", "1e999", "9" * 400])
def test_a_broken_tolerance_counts_as_none_and_is_reported(tolerance: str) -> None:
    world = World(queue(tolerance=tolerance), nodes(1), gang("g", 1, cpu=1))
    world.session()
    assert world.bound("g") == 1
    assert "volcano.sh/overuse-tolerance" in world.cache.problems["queue default"]


def test_storage_of_no_sense_keeps_only_its_pod_waiting() -> None:
    odd_volume = msgspec.structs.replace(
        volume("v"),
        spec=msgspec.structs.replace(
            volume("v").spec,
            capacity={"storage": "much"},
            node_affinity={"required": {"nodeSelectorTerms": [{"matchExpressions": "all"}]}},
        ),
    )
    odd_claim = claim("c", volume="v", size="lots")
    odd_class = msgspec.structs.replace(
        storage_class(waits=True), allowed_topologies=[{"matchLabelExpressions": 7}, {}]
    )
    reads = pod("p", group="odd", requests={"cpu": "1"})
    mounts = [Volume(name="d", persistent_volume_claim=ClaimReference(claim_name="c"))]
    reads = msgspec.structs.replace(reads, spec=msgspec.structs.replace(reads.spec, volumes=mounts))
    storage = [odd_volume, odd_claim, odd_class, drivers("node-01", count=-7)]
    world = World(queue(), nodes(1), storage, [group("odd", minimum=1), reads], gang("g", 1, cpu=1))
    decisions = world.session()
    assert world.bound("g") == 1
    assert reason_of(decisions, "odd").stage is Stage.PREDICATE


def test_a_disruption_budget_with_an_unreadable_selector_protects_no_pod() -> None:
    needs = [LabelSelectorRequirement(key="a", operator="Near")]
    odd = PodDisruptionBudget(
        metadata=ObjectMeta(name="odd", namespace="ns"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_expressions=needs)),
        status=PodDisruptionBudgetStatus(disruptions_allowed=-3),
    )
    tiers = tuple(PluginConf(name=n) for n in ("priority", "gang", "pdb", "predicates"))
    low = [
        group("low", minimum=1, phase="Running"),
        pod("low-0", group="low", requests={"cpu": "1"}, on="node-01"),
    ]
    high = gang("high", 1, cpu=1, priority_class="high")
    world = World(
        queue(), priority_class("high", 9), nodes(1, cpu=1), odd, low, high,
        conf=Conf(tiers=(tiers,)),
    )  # fmt: skip
    victims = [ref.name for eviction in world.decide().evictions for ref in eviction.pods]
    assert victims == ["low-0"]
