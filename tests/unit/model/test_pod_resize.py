"""What a pod holds while it is resized in place: the largest of spec, allocated and actual."""

from dataclasses import dataclass

import msgspec
import pytest

from vc.model.api.pod import Pod
from vc.model.api.struct import JsonObject
from vc.model.pod_requests import pod_requests
from vc.model.pod_resize import with_held_requests

Resources = dict[str, str]


def container(
    cpu: str, *, name: str = "main", memory: str = "", sidecar: bool = False
) -> JsonObject:
    requests = {"cpu": cpu, **({"memory": memory} if memory else {})}
    restarts = {"restartPolicy": "Always"} if sidecar else {}
    return {"name": name, "resources": {"requests": requests}, **restarts}


def status(
    *,
    name: str = "main",
    allocated: Resources | None = None,
    actual: Resources | None = None,
    limits: Resources | None = None,
) -> JsonObject:
    written: JsonObject = {"name": name, "ready": True}
    if allocated is not None:
        written["allocatedResources"] = allocated
    if actual is not None:
        written["resources"] = {"requests": actual, **({"limits": limits} if limits else {})}
    return written


def pod(
    *containers: JsonObject,
    statuses: tuple[JsonObject, ...] = (),
    init: tuple[JsonObject, ...] = (),
    init_statuses: tuple[JsonObject, ...] = (),
    node: str = "n",
    phase: str = "Running",
    whole: Resources | None = None,
    whole_status: JsonObject | None = None,
    overhead: Resources | None = None,
    conditions: tuple[JsonObject, ...] = (),
) -> Pod:
    body = {
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {
            "containers": list(containers),
            "initContainers": list(init),
            "nodeName": node,
            "overhead": overhead or {},
            **({"resources": {"requests": whole}} if whole else {}),
        },
        "status": {
            "phase": phase,
            "containerStatuses": list(statuses),
            "initContainerStatuses": list(init_statuses),
            "conditions": list(conditions),
            **(whole_status or {}),
        },
    }
    return msgspec.convert(body, Pod)


def resize(reason: str) -> JsonObject:
    return {"type": "PodResizePending", "status": "True", "reason": reason}


@dataclass(frozen=True)
class Case:
    sentence: str
    pod: Pod
    cpu: int
    differs: bool = True


LARGE, SMALL = {"cpu": "64"}, {"cpu": "8"}
CASES = [
    Case("shrinking: it still runs with the old", pod(container("8"), statuses=(status(allocated=SMALL, actual=LARGE),)), 64_000),
    Case("shrinking: the node has not taken it yet", pod(container("8"), statuses=(status(allocated=LARGE, actual=LARGE),)), 64_000),
    Case("growing: the spec counts before the node agrees", pod(container("64"), statuses=(status(allocated=SMALL, actual=SMALL),)), 64_000, differs=False),
    Case("a resize that is deferred counts", pod(container("64"), statuses=(status(allocated=SMALL, actual=SMALL),), conditions=(resize("Deferred"),)), 64_000, differs=False),
    Case("one that can never be does not", pod(container("1000000"), statuses=(status(allocated=SMALL, actual=SMALL),), conditions=(resize("Infeasible"),)), 8_000),
    Case("at rest nothing is written", pod(container("8"), statuses=(status(allocated=SMALL, actual=SMALL, limits={"cpu": "9"}),)), 8_000, differs=False),
    Case("an API server that says nothing of it", pod(container("8"), statuses=(status(),)), 8_000, differs=False),
    Case("a limit where there is no request", pod({"name": "main", "resources": {"limits": SMALL}}, statuses=(status(actual={}, limits=LARGE),)), 64_000),
    Case("only one of two containers", pod(container("8"), container("1", name="b"), statuses=(status(actual=LARGE), status(name="b", actual={"cpu": "1"}))), 65_000),
    Case("a sidecar", pod(container("1"), init=(container("2", name="s", sidecar=True),), init_statuses=(status(name="s", allocated={"cpu": "5"}),)), 6_000),
    Case("a sidecar counts beside the steps after it", pod(container("1"), init=(container("2", name="s", sidecar=True), container("4", name="i")), init_statuses=(status(name="s", allocated={"cpu": "5"}),)), 9_000),
    Case("the pod as a whole", pod(container("1"), whole=SMALL, whole_status={"allocatedResources": SMALL, "resources": {"requests": LARGE}}), 64_000),
    Case("a whole that the spec does not set is no part of it", pod(container("1"), whole_status={"resources": {"requests": LARGE}}), 1_000, differs=False),
    Case("the overhead comes on top", pod(container("8"), statuses=(status(actual=LARGE),), overhead={"cpu": "1"}), 65_000),
    Case("a pod without a node holds nothing", pod(container("8"), statuses=(status(actual=LARGE),), node="", phase="Pending"), 8_000, differs=False),
    Case("nor does one that is over", pod(container("8"), statuses=(status(actual=LARGE),), phase="Succeeded"), 8_000, differs=False),
    Case("what is no quantity counts as absent", pod(container("8"), statuses=(status(allocated={"cpu": "many"}, actual=LARGE),)), 64_000),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_a_pod_holds(case: Case) -> None:
    projected = with_held_requests(case.pod)
    assert pod_requests(projected.spec)["cpu"] == case.cpu
    assert bool(projected.spec.held_requests) == case.differs
    encoded = msgspec.json.encode(projected)
    assert b"allocatedResources" not in encoded
    assert b'"resources"' not in msgspec.json.encode(projected.status)
    assert with_held_requests(msgspec.json.decode(encoded, type=Pod)).spec.node_name == (
        case.pod.spec.node_name
    )


def test_only_the_watcher_writes_held_requests() -> None:
    forged = pod(container("8"))
    spec = msgspec.structs.replace(forged.spec, held_requests={"cpu": "1m"})
    forged = msgspec.structs.replace(forged, spec=spec)
    assert pod_requests(with_held_requests(forged).spec)["cpu"] == 8_000


def test_every_resource_is_counted_by_itself() -> None:
    shrinking = pod(
        container("8", memory="4Gi"),
        statuses=(
            status(allocated={"cpu": "8", "memory": "8Gi"}, actual={"cpu": "64", "memory": "4Gi"}),
        ),
    )
    assert pod_requests(with_held_requests(shrinking).spec) == {"cpu": 64_000, "memory": 8 * 2**30}
