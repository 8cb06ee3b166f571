"""What an explanation leaves out: estimates for jobs that time does not help, and holders beyond a number."""

import pytest

from tests.unit.dashboard.cluster import NAMESPACE, Cluster, changed, full, manifest
from vc.dashboard.logic.explaining import HOLDERS_SHOWN_MAX, explain
from vc.messages.sessions import Stage
from vc.model.api.meta import ObjectMeta
from vc.model.api.node import Node, NodeCondition, NodeStatus
from vc.model.api.scheduling import Queue, QueueSpec, QueueStatus
from vc.model.api.struct import ResourceList


def with_stage(cluster: Cluster, stage: Stage) -> Cluster:
    waits = cluster.reasons[f"{NAMESPACE}/waits"]
    cluster.reasons = {waits.group: changed(waits, reason=changed(waits.reason, stage=stage))}
    return cluster


@pytest.mark.parametrize(
    ("stage", "seconds", "waits_for"),
    [
        (Stage.GANG, 540, ["ml/first"]),
        (Stage.QUEUE_CLOSED, 0, []),
        (Stage.QUEUE_MISSING, 0, []),
        (Stage.UNSUPPORTED, 0, []),
        (Stage.INVALID, 0, []),
    ],
)
def test_a_job_that_time_does_not_help_has_no_estimate(
    stage: Stage, seconds: float, waits_for: list[str]
) -> None:
    cluster = full()
    cluster.run(manifest("first", 4, estimate="10m"), since=60)
    cluster.run(manifest("waits", 2))
    found = with_stage(cluster, stage).estimate("waits")
    assert (found[0], found[2]) == (seconds, waits_for)


def node(cpus: int) -> Node:
    allocatable: ResourceList = {"cpu": str(cpus), "memory": "512Gi", "pods": "110"}
    return Node(
        metadata=ObjectMeta(name="node-1", uid="node-1"),
        status=NodeStatus(
            allocatable=allocatable,
            capacity=allocatable,
            conditions=[NodeCondition(type="Ready", status="True")],
        ),
    )


def queue(name: str, *, parent: str = "", cpus: int = 0) -> Queue:
    spec = QueueSpec(parent=parent, capability={"cpu": str(cpus)} if cpus else {})
    return Queue(metadata=ObjectMeta(name=name), spec=spec, status=QueueStatus(state="Open"))


@pytest.mark.parametrize(("own", "above", "left"), [(2, 3, "2"), (3, 2, "2"), (0, 3, "3")])
def test_the_smallest_limit_above_a_queue_is_its_headroom(own: int, above: int, left: str) -> None:
    cluster = Cluster(
        queue("dept", cpus=above), queue("leaf", parent="dept", cpus=own), node(cpus=4)
    )
    assert cluster.waiting("leaf").headroom["cpu"] == left


def test_only_some_holders_are_shown_and_all_are_counted() -> None:
    cluster = Cluster(queue("default"), node(cpus=12))
    for number in range(12):
        cluster.run(manifest(f"holds-{number:02}", 1))
    cluster.run(manifest("waits", 2))
    found = explain(
        cluster.cluster_index(), cluster.reasons, f"{NAMESPACE}/waits", cluster.ground()
    )
    assert found is not None
    assert (len(found.holders), found.holders_total) == (HOLDERS_SHOWN_MAX, 12)
    assert found.position == 1


def test_a_job_that_runs_has_no_position() -> None:
    cluster = full()
    cluster.run(manifest("runs", 2))
    found = explain(cluster.cluster_index(), cluster.reasons, f"{NAMESPACE}/runs", cluster.ground())
    assert found is not None
    assert (found.position, found.ahead) == (0, [])
