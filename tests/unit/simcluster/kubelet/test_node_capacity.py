"""What a pod requests, and which pods a kubelet rejects.

https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
"""

import msgspec
import pytest

from vc.model.api.struct import JsonObject
from vc.simcluster.kubelet.node_capacity import NodeCapacity, pod_requests


def container(cpu: str = "", memory: str = "", *, sidecar: bool = False) -> JsonObject:
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    made: JsonObject = {"name": "c", "resources": {"requests": requests}}
    return {**made, "restartPolicy": "Always"} if sidecar else made


class Requests(msgspec.Struct, frozen=True):
    """A pod spec and the CPU it requests, in thousandths."""

    id: str
    spec: JsonObject
    cpu: int


REQUESTS = [
    Requests("no containers", {}, 0),
    Requests("containers are added", {"containers": [container("1"), container("500m")]}, 1500),
    Requests("a larger init container counts alone", {"containers": [container("1")], "initContainers": [container("3")]}, 3000),
    Requests("init containers run one after another", {"containers": [container("1")], "initContainers": [container("2"), container("3")]}, 3000),
    Requests("a smaller init container does not count", {"containers": [container("4")], "initContainers": [container("3")]}, 4000),
    Requests("a sidecar runs beside the containers", {"containers": [container("1")], "initContainers": [container("2", sidecar=True)]}, 3000),
    Requests("a sidecar runs beside later init containers", {"containers": [container("1")], "initContainers": [container("1", sidecar=True), container("5")]}, 6000),
    Requests("a sidecar does not run beside earlier ones", {"containers": [container("1")], "initContainers": [container("5"), container("1", sidecar=True)]}, 5000),
    Requests("overhead is added", {"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250),
    Requests("an unreadable quantity counts as none", {"containers": [container("lots")]}, 0),
    Requests("limits alone are no requests here", {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}, 0),
]  # fmt: skip


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case.id)
def test_the_requests_of_a_pod(case: Requests) -> None:
    assert pod_requests(case.spec).get("cpu", 0) == case.cpu


def requests(cpu: str, memory: str = "") -> dict[str, int]:
    return pod_requests({"containers": [container(cpu, memory)]})


def test_pods_are_admitted_until_the_node_is_full() -> None:
    node = NodeCapacity({"cpu": "4", "memory": "8Gi", "pods": "10"})
    assert node.take("a", requests("3")) is None
    refusal = node.take("b", requests("2"))
    assert refusal is not None
    assert refusal.reason == "OutOfcpu"
    assert refusal.message == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 3000, "
        "capacity: 4000"
    )
    assert node.take("c", requests("1")) is None


def test_a_rejected_pod_uses_nothing() -> None:
    node = NodeCapacity({"cpu": "1", "memory": "1Gi", "pods": "10"})
    assert node.take("a", requests("1", "2Gi")) is not None
    assert node.take("b", requests("1", "1Gi")) is None


def test_a_pod_is_counted_once() -> None:
    node = NodeCapacity({"cpu": "4", "pods": "10"})
    assert node.take("a", requests("3")) is None
    assert node.take("a", requests("3")) is None
    assert node.take("b", requests("1")) is None


def test_released_resources_are_free_again() -> None:
    node = NodeCapacity({"cpu": "4", "pods": "10"})
    node.take("a", requests("4"))
    node.release("a")
    node.release("a")
    assert node.take("b", requests("4")) is None
    assert node.take("c", requests("1")) is not None


def test_the_number_of_pods_is_limited() -> None:
    node = NodeCapacity({"cpu": "4", "pods": "2"})
    assert node.take("a", {}) is None
    assert node.take("b", {}) is None
    refusal = node.take("c", {})
    assert refusal is not None
    assert (refusal.resource, refusal.requested, refusal.used, refusal.capacity) == (
        "pods",
        1,
        2,
        2,
    )


def test_a_resource_that_the_node_lacks_is_refused() -> None:
    node = NodeCapacity({"cpu": "4", "pods": "2"})
    gpu = {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]}
    refusal = node.take("a", pod_requests(gpu))
    assert refusal is not None
    assert (refusal.reason, refusal.requested, refusal.capacity) == ("OutOfnvidia.com/gpu", 1, 0)


def test_a_running_pod_is_held_without_a_check() -> None:
    """A kubelet that restarts must not reject what it admitted before."""
    node = NodeCapacity({"cpu": "1", "pods": "1"})
    node.hold("a", {**requests("2"), "pods": 1000})
    assert node.take("b", requests("1")) is not None
    node.release("a")
    assert node.take("b", requests("1")) is None


def test_the_first_resource_by_name_is_reported() -> None:
    node = NodeCapacity({"cpu": "1", "memory": "1Gi", "pods": "1"})
    refusal = node.take("a", requests("2", "2Gi"))
    assert refusal is not None
    assert refusal.resource == "cpu"
