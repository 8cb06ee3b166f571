"""predicates: each filter of nodes on its own, as a table."""

from dataclasses import dataclass

import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Check, Stage
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node, Taint
from vc.model.api.pod import Pod, Toleration
from vc.model.api.struct import JsonObject
from vc.scheduling.conf.model import Conf, PluginConf

DEDICATED = Taint(key="dedicated", value="gpu", effect="NoSchedule")


def required(*terms: JsonObject) -> JsonObject:
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}
        }
    }


def zone(operator: str, *values: str) -> JsonObject:
    return {"matchExpressions": [{"key": "zone", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "plugins",
    [[PluginConf(name="gang")], [PluginConf(name="predicates", switches={"predicate": False})]],
    ids=["predicates is not configured", "predicates is switched off"],
)
def test_only_ready_nodes_take_pods_whatever_is_configured(plugins: list[PluginConf]) -> None:
    conf = Conf(tiers=(tuple(plugins),))
    world = World(queue(), node("a", ready=False), gang("g", 1, cpu=1), conf=conf)
    reason = reason_of(world.session(), "g") if plugins[0].name == "gang" else None
    assert world.where() == {}
    assert reason is None or reason.checks == [Check(name="ready", nodes_left=0)]
    world.put(node("b"))
    world.session()
    assert world.where() == {"g-worker-0": "b"}


@dataclass(frozen=True)
class Case:
    """One pod, some nodes, and where it goes ('' for nowhere)."""

    id: str
    nodes: list[Node]
    pod: Pod
    goes_to: str
    removed_by: str = ""


def one(**how: object) -> Pod:
    given = {"requests": {"cpu": "1"}, **how}
    return pod("p", group="g", **given)  # type: ignore[arg-type]  # a table of keyword arguments


A_B = [node("a", labels={"zone": "a", "size": "3"}), node("b", labels={"zone": "b", "size": "12"})]
TAINTED = [node("a", taints=[DEDICATED])]

CASES = [
    Case("a plain pod may use any node", [node("a")], one(), "a"),
    Case("ties go to the first by name", [node("b"), node("a")], one(), "a"),
    Case("a node selector chooses", A_B, one(selector={"zone": "b"}), "b"),
    Case("a selector no node matches", A_B, one(selector={"zone": "c"}), "", "node selector"),
    Case("a label no node has", A_B, one(selector={"rack": "1"}), "", "node selector"),
    Case("affinity In", A_B, one(affinity=required(zone("In", "b", "c"))), "b"),
    Case("affinity NotIn", A_B, one(affinity=required(zone("NotIn", "a"))), "b"),
    Case("affinity NotIn is true without the label", [node("x")], one(affinity=required(zone("NotIn", "a"))), "x"),
    Case("affinity Exists", [node("a"), A_B[1]], one(affinity=required(zone("Exists"))), "b"),
    Case("affinity DoesNotExist", [A_B[1], node("z")], one(affinity=required(zone("DoesNotExist"))), "z"),
    Case("affinity Gt compares numbers", A_B, one(affinity=required({"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["5"]}]})), "b"),
    Case("affinity Lt compares numbers", A_B, one(affinity=required({"matchExpressions": [{"key": "size", "operator": "Lt", "values": ["5"]}]})), "a"),
    Case("affinity by name", A_B, one(affinity=required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]})), "b"),
    Case("alternatives of an affinity", A_B, one(affinity=required(zone("In", "x"), zone("In", "b"))), "b"),
    Case("an empty term matches nothing", A_B, one(affinity=required({})), "", "node affinity"),
    Case("a taint keeps pods away", TAINTED, one(), "", "taints"),
    Case("an equal toleration", TAINTED, one(tolerations=[Toleration(key="dedicated", value="gpu", effect="NoSchedule")]), "a"),
    Case("a toleration of another value", TAINTED, one(tolerations=[Toleration(key="dedicated", value="x")]), "", "taints"),
    Case("a toleration of another effect", TAINTED, one(tolerations=[Toleration(key="dedicated", operator="Exists", effect="NoExecute")]), "", "taints"),
    Case("a toleration of everything", TAINTED, one(tolerations=[Toleration(operator="Exists")]), "a"),
    Case("PreferNoSchedule keeps no pod away", [node("a", taints=[Taint(key="k", effect="PreferNoSchedule")])], one(), "a"),
    Case("a cordoned node", [node("a", unschedulable=True)], one(), "", "schedulable"),
    Case("a cordoned node, tolerated", [node("a", unschedulable=True)], one(tolerations=[Toleration(key="node.kubernetes.io/unschedulable", operator="Exists")]), "a"),
    Case("a node that is not ready", [node("a", ready=False), node("b")], one(), "b"),
    Case("no node is ready", [node("a", ready=False)], one(), "", "ready"),
    Case("no nodes at all", [], one(), ""),
    Case("a GPU pod goes where GPUs are", [node("a"), node("b", gpu=8)], one(requests={"nvidia.com/gpu": "2"}), "b"),
    Case("too many GPUs", [node("b", gpu=8)], one(requests={"nvidia.com/gpu": "9"}), ""),
    Case("a resource no node has", [node("a")], one(requests={"example.com/fpga": "1"}), ""),
    Case("limits without requests count as requests", [node("a", cpu=2)], one(requests={}, limits={"cpu": "3"}), ""),
    Case("limits without requests that fit", [node("a", cpu=4)], one(requests={}, limits={"cpu": "3"}), "a"),
    Case("requests win over limits", [node("a", cpu=2)], one(requests={"cpu": "1"}, limits={"cpu": "9"}), "a"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_pod_goes_where_it_may(case: Case) -> None:
    world = World(queue(), case.nodes, [group("g", minimum=1), case.pod])
    decisions = world.session()
    assert world.where() == ({"p": case.goes_to} if case.goes_to else {})
    if not case.goes_to:
        reason = reason_of(decisions, "g")
        assert reason.stage in (Stage.PREDICATE, Stage.GANG)
        zeroed = [check.name for check in reason.checks if check.nodes_left == 0]
        if case.removed_by:
            assert zeroed[0] == case.removed_by
            assert reason.stage is Stage.PREDICATE


def test_the_pod_count_of_a_node_is_a_limit() -> None:
    world = World(queue(), [node("a", pods=110)], gang("g", 111, minimum=1, cpu="10m"))
    world.session()
    assert world.bound("g") == 110
    refused = World(queue(), [node("a", pods=110)], gang("g", 111, cpu="10m"))
    reason = reason_of(refused.session(), "g")
    assert "too many pods (at most 0 more on a node)" in reason.sentence
    assert refused.where() == {}


def test_pods_of_other_schedulers_use_nodes_and_are_left_alone() -> None:
    other = pod("other", requests={"cpu": 60}, scheduler="default-scheduler", on="node-01")
    foreign = pod("foreign", group="g", requests={"cpu": 1}, scheduler="default-scheduler")
    world = World(queue(), nodes(1), [other, foreign], gang("g", 1, cpu=10))
    world.session()
    assert world.where() == {"other": "node-01"}
    world.delete_pod("other")
    world.session()
    assert world.where() == {"g-worker-0": "node-01"}


def test_a_pod_that_is_being_deleted_keeps_its_resources_until_it_is_gone() -> None:
    terminating = pod("terminating", requests={"cpu": 60}, on="node-01", deleting=True)
    world = World(queue(), nodes(1), [terminating], gang("g", 1, cpu=10))
    world.session()
    assert world.bound("g") == 0
    world.delete_pod("terminating")
    world.session()
    assert world.bound("g") == 1


def test_a_pod_seen_before_its_node_counts_when_the_node_comes() -> None:
    early: list[ApiObject] = [pod("early", requests={"cpu": 60}, on="node-01")]
    world = World(queue(), early, gang("g", 1, cpu=10))
    assert world.session().nodes == 0
    world.put(node("node-01"))
    world.session()
    assert world.bound("g") == 0


def test_checks_are_counted_one_after_the_other() -> None:
    world = World(
        queue(),
        [
            node("a", ready=False),
            node("b", unschedulable=True),
            node("c", taints=[DEDICATED], labels={"zone": "z"}),
            node("d"),
            node("e", cpu=1, labels={"zone": "z"}),
        ],
        [group("g", minimum=1), one(selector={"zone": "z"}, requests={"cpu": "2"})],
    )
    reason = reason_of(world.session(), "g")
    assert reason.checks == [
        Check(name="ready", nodes_left=4),
        Check(name="schedulable", nodes_left=3),
        Check(name="node selector", nodes_left=2),
        Check(name="taints", nodes_left=1),
    ]
    assert reason.sentence == (
        "0 of the 1 pods of cpu 2 that must start together fit; 0/5 nodes fit another: "
        "1 not ready, 1 cordoned, 1 do not match the node selector, "
        "1 have taints that are not tolerated, "
        "1 insufficient cpu (at most cpu 1 free on a node); it starts when 1 more pod fits "
        "on nodes with zone=z"
    )
