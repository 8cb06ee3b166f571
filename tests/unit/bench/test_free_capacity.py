"""A shape that does not fit is rejected before anything is submitted, with the number of missing nodes."""

from typing import Any

from bench.cluster.free_capacity import FreeCapacity, free_capacity_for, why_too_small
from bench.cluster.shapes import PodTemplate, Shape

from vc.model.api.meta import ObjectMeta
from vc.model.api.node import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from vc.model.api.pod import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from vc.model.api.struct import ResourceList

TEMPLATE = PodTemplate(cpu="500m", memory="1Gi")


def node(name: str, *, pods: str = "110", ready: bool = True, **spec: Any) -> Node:
    allocatable: ResourceList = {"cpu": "4", "memory": "64Gi", "pods": pods}
    condition = NodeCondition(type="Ready", status="True" if ready else "False")
    return Node(
        metadata=ObjectMeta(name=name, labels={"type": "kwok"}),
        spec=NodeSpec(**spec),
        status=NodeStatus(allocatable=allocatable, conditions=[condition]),
    )


def pod(on: str, *, cpu: str, phase: str = "Running") -> Pod:
    container = Container(name="c", resources=ResourceRequirements(requests={"cpu": cpu}))
    return Pod(spec=PodSpec(containers=[container], node_name=on), status=PodStatus(phase=phase))


def test_the_scarcest_resource_of_each_node_counts() -> None:
    free = free_capacity_for(TEMPLATE, [node("a"), node("b", pods="3")], [])
    assert free == FreeCapacity(nodes=2, pods=8 + 3, pods_per_node=8)


def test_running_pods_are_subtracted_and_finished_ones_are_not() -> None:
    pods = [pod("a", cpu="1"), pod("a", cpu="3", phase="Succeeded"), pod("", cpu="4")]
    assert free_capacity_for(TEMPLATE, [node("a")], pods).pods == 6


def test_a_node_that_is_full_beyond_its_size_takes_nothing_from_others() -> None:
    free = free_capacity_for(TEMPLATE, [node("a"), node("b")], [pod("a", cpu="40")])
    assert free.pods == 8


def test_nodes_that_take_no_such_pods_do_not_count() -> None:
    taint = [Taint(key="k", effect="NoSchedule")]
    nodes = [node("a", ready=False), node("b", unschedulable=True), node("c", taints=taint)]
    assert free_capacity_for(TEMPLATE, nodes, []).nodes == 0
    assert free_capacity_for(PodTemplate(tolerates_all=True), nodes, []).nodes == 1
    elsewhere = PodTemplate(node_selector={"type": "real"})
    assert free_capacity_for(elsewhere, [node("d")], []).nodes == 0


def test_no_node_and_too_little_capacity_are_reported_with_the_missing_nodes() -> None:
    assert "no node of the cluster is ready" in why_too_small(
        FreeCapacity(nodes=0, pods=0, pods_per_node=0), Shape(1, 1), TEMPLATE
    )
    said = why_too_small(FreeCapacity(nodes=2, pods=16, pods_per_node=8), Shape(10, 10), TEMPLATE)
    assert "10x10 needs capacity for 100 pods of 500m CPU and 1Gi memory (50 CPUs)" in said
    assert "the 2 usable nodes have capacity for 16: 11 more nodes" in said
    assert not why_too_small(
        FreeCapacity(nodes=2, pods=100, pods_per_node=8), Shape(10, 10), TEMPLATE
    )


def test_a_pod_that_is_larger_than_every_node_has_a_reason_of_its_own() -> None:
    said = why_too_small(FreeCapacity(nodes=2, pods=0, pods_per_node=0), Shape(1, 1), TEMPLATE)
    assert "none of them could take even one" in said
