"""Whether it fits is said before anything is submitted, with what would do."""

from typing import Any

from bench.cluster.room import Room, room_for, why_no_room
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
    room = room_for(TEMPLATE, [node("a"), node("b", pods="3")], [])
    assert room == Room(nodes=2, pods=8 + 3, pods_per_node=8)


def test_what_runs_already_is_taken_off_and_what_has_ended_is_not() -> None:
    pods = [pod("a", cpu="1"), pod("a", cpu="3", phase="Succeeded"), pod("", cpu="4")]
    assert room_for(TEMPLATE, [node("a")], pods).pods == 6


def test_a_node_that_is_full_beyond_its_size_takes_nothing_from_others() -> None:
    room = room_for(TEMPLATE, [node("a"), node("b")], [pod("a", cpu="40")])
    assert room.pods == 8


def test_nodes_that_take_no_such_pods_do_not_count() -> None:
    taint = [Taint(key="k", effect="NoSchedule")]
    nodes = [node("a", ready=False), node("b", unschedulable=True), node("c", taints=taint)]
    assert room_for(TEMPLATE, nodes, []).nodes == 0
    assert room_for(PodTemplate(tolerates_all=True), nodes, []).nodes == 1
    elsewhere = PodTemplate(node_selector={"type": "real"})
    assert room_for(elsewhere, [node("d")], []).nodes == 0


def test_no_node_and_too_little_room_are_told_with_what_would_do() -> None:
    assert "no node of the cluster is ready" in why_no_room(
        Room(nodes=0, pods=0, pods_per_node=0), Shape(1, 1), TEMPLATE
    )
    said = why_no_room(Room(nodes=2, pods=16, pods_per_node=8), Shape(10, 10), TEMPLATE)
    assert "10x10 needs room for 100 pods of 500m CPU and 1Gi memory (50 CPUs)" in said
    assert "the 2 usable nodes have room for 16: 11 more nodes" in said
    assert not why_no_room(Room(nodes=2, pods=100, pods_per_node=8), Shape(10, 10), TEMPLATE)


def test_a_pod_that_is_larger_than_every_node_is_told_apart() -> None:
    said = why_no_room(Room(nodes=2, pods=0, pods_per_node=0), Shape(1, 1), TEMPLATE)
    assert "none of them could take even one" in said
