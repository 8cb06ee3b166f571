"""The defaults of built-in kinds, as the API reference of Kubernetes gives them."""

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.schema.defaults import fill_defaults, quantity_faults
from vc.simcluster.schema.pod_defaults import quality_of_service

MISSING = "<missing>"


class Default(msgspec.Struct, frozen=True):
    """An object of a kind, and fields after its defaults are set."""

    id: str
    path: tuple[str, str, str]
    body: JsonObject
    expected: dict[str, Json]


def field(obj: Json, path: str) -> Json:
    for step in path.split("."):
        if isinstance(obj, list):
            obj = obj[int(step)]
        elif isinstance(obj, dict) and step in obj:
            obj = obj[step]
        else:
            return MISSING
    return obj


def pod(**container: Json) -> JsonObject:
    return {"spec": {"containers": [{"name": "main", **container}]}}


POD = ("", "v1", "pods")
TEMPLATE: JsonObject = {"template": {"spec": {"containers": [{"name": "main", "image": "x:1"}]}}}
DEFAULTS = [
    Default("a pod", POD, pod(), {"spec.restartPolicy": "Always", "spec.schedulerName": "default-scheduler", "spec.terminationGracePeriodSeconds": 30, "spec.dnsPolicy": "ClusterFirst", "spec.serviceAccountName": "default", "spec.enableServiceLinks": True, "status.phase": "Pending"}),
    Default("set fields of a pod are kept", POD, {"spec": {"restartPolicy": "Never", "serviceAccountName": "me", "containers": []}}, {"spec.restartPolicy": "Never", "spec.serviceAccount": "me"}),
    Default("the old name of the service account", POD, {"spec": {"serviceAccount": "old", "containers": []}}, {"spec.serviceAccountName": "old"}),
    Default("an image without a tag is pulled always", POD, pod(image="busybox"), {"spec.containers.0.imagePullPolicy": "Always"}),
    Default("latest is pulled always", POD, pod(image="host:5000/busybox:latest"), {"spec.containers.0.imagePullPolicy": "Always"}),
    Default("a port of the registry is no tag", POD, pod(image="host:5000/busybox"), {"spec.containers.0.imagePullPolicy": "Always"}),
    Default("a tag is pulled if absent", POD, pod(image="busybox:1"), {"spec.containers.0.imagePullPolicy": "IfNotPresent"}),
    Default("limits become requests", POD, pod(resources={"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}), {"spec.containers.0.resources.requests": {"cpu": "1", "memory": "1Gi"}}),
    Default("ports are TCP", POD, pod(ports=[{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]), {"spec.containers.0.ports.0.protocol": "TCP", "spec.containers.0.ports.1.protocol": "UDP"}),
    Default("termination messages", POD, pod(), {"spec.containers.0.terminationMessagePath": "/dev/termination-log", "spec.containers.0.terminationMessagePolicy": "File"}),
    Default("a service", ("", "v1", "services"), {"spec": {"ports": [{"port": 80}]}}, {"spec.type": "ClusterIP", "spec.sessionAffinity": "None", "spec.ports.0.targetPort": 80, "spec.ports.0.protocol": "TCP", "spec.internalTrafficPolicy": "Cluster"}),
    Default("a secret", ("", "v1", "secrets"), {"stringData": {"a": "b"}, "data": {"a": "eA==", "c": "eQ=="}}, {"type": "Opaque", "data": {"a": "Yg==", "c": "eQ=="}, "stringData": MISSING}),
    Default("a namespace", ("", "v1", "namespaces"), {}, {"status.phase": "Active", "spec.finalizers": ["kubernetes"]}),
    Default("a claim", ("", "v1", "persistentvolumeclaims"), {"spec": {}}, {"spec.volumeMode": "Filesystem", "status.phase": "Pending"}),
    Default("a volume", ("", "v1", "persistentvolumes"), {"spec": {}}, {"spec.persistentVolumeReclaimPolicy": "Retain", "status.phase": "Available"}),
    Default("a storage class", ("storage.k8s.io", "v1", "storageclasses"), {}, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
    Default("a priority class", ("scheduling.k8s.io", "v1", "priorityclasses"), {}, {"preemptionPolicy": "PreemptLowerPriority"}),
    Default("a node", ("", "v1", "nodes"), {"status": {"capacity": {"cpu": "4"}}}, {"status.allocatable": {"cpu": "4"}}),
    Default("the allocatable of a node is kept", ("", "v1", "nodes"), {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}}, {"status.allocatable": {"cpu": "3"}}),
    Default("an event", ("", "v1", "events"), {}, {"type": "Normal", "reportingComponent": ""}),
    Default("a deployment", ("apps", "v1", "deployments"), {"spec": TEMPLATE}, {"spec.replicas": 1, "spec.template.spec.restartPolicy": "Always", "spec.template.spec.containers.0.imagePullPolicy": "IfNotPresent"}),
    Default("a daemon set has no replicas", ("apps", "v1", "daemonsets"), {"kind": "DaemonSet", "spec": {}}, {"spec.replicas": MISSING}),
    Default("a batch job", ("batch", "v1", "jobs"), {"spec": TEMPLATE}, {"spec.parallelism": 1, "spec.completions": 1, "spec.backoffLimit": 6, "spec.template.spec.terminationGracePeriodSeconds": 30}),
    Default("a work queue has no completions", ("batch", "v1", "jobs"), {"spec": {"parallelism": 3}}, {"spec.parallelism": 3, "spec.completions": MISSING}),
    Default("completions without a parallelism", ("batch", "v1", "jobs"), {"spec": {"completions": 5}}, {"spec.parallelism": 1, "spec.completions": 5}),
    Default("a config map has none", ("", "v1", "configmaps"), {"data": {"a": "b"}}, {"data": {"a": "b"}, "spec": MISSING}),
]  # fmt: skip


def filled(case: Default) -> JsonObject:
    resource = make_api().registry.lookup(*case.path)
    obj: JsonObject = msgspec.json.decode(msgspec.json.encode(case.body))
    obj["metadata"] = {"name": "x"}
    fill_defaults(resource, obj)
    return obj


@pytest.mark.parametrize("case", DEFAULTS, ids=lambda case: case.id)
def test_defaults(case: Default) -> None:
    obj = filled(case)
    assert {path: field(obj, path) for path in case.expected} == case.expected


@pytest.mark.parametrize("case", DEFAULTS, ids=lambda case: case.id)
def test_defaults_are_idempotent(case: Default) -> None:
    """They are set twice, before and after mutating webhooks."""
    once = filled(case)
    again: JsonObject = msgspec.json.decode(msgspec.json.encode(once))
    fill_defaults(make_api().registry.lookup(*case.path), again)
    assert again == once


@pytest.mark.parametrize("spec", [None, [], "x", 5, {"containers": "x"}, {"containers": [5]}])
def test_a_malformed_pod_is_left_to_validation(spec: Json) -> None:
    obj: JsonObject = {"metadata": {"name": "x"}, "spec": spec}
    fill_defaults(make_api().registry.lookup(*POD), obj)


def resources(requests: JsonObject | None = None, limits: JsonObject | None = None) -> JsonObject:
    found = {"requests": requests, "limits": limits}
    return {"resources": {name: value for name, value in found.items() if value is not None}}


BOTH: JsonObject = {"cpu": "1", "memory": "1Gi"}
QUALITY = [
    ("nothing", [resources()], "BestEffort"),
    ("equal requests and limits", [resources(BOTH, BOTH)], "Guaranteed"),
    ("equal amounts in other units", [resources({"cpu": "1000m", "memory": "1024Mi"}, BOTH)], "Guaranteed"),
    ("requests only", [resources(BOTH)], "Burstable"),
    ("no memory limit", [resources({"cpu": "1"}, {"cpu": "1"})], "Burstable"),
    ("one container without resources", [resources(BOTH, BOTH), resources()], "Burstable"),
    ("other resources do not count", [resources({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "1"})], "BestEffort"),
    ("a request of 0 is none", [resources({"cpu": "0"})], "BestEffort"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("containers", "expected"), [case[1:] for case in QUALITY], ids=[case[0] for case in QUALITY]
)
def test_the_quality_of_service_class(containers: list[JsonObject], expected: str) -> None:
    """https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/"""
    assert quality_of_service({"containers": containers}) == expected


@pytest.mark.parametrize(
    ("amounts", "faults"),
    [
        ({"cpu": "1", "memory": 5}, 0),
        ({"cpu": "-1"}, 1),
        ({"cpu": True, "memory": None}, 2),
        ({"cpu": "x"}, 1),
        ([], 1),
    ],
)
def test_quantities_are_numbers_of_at_least_0(amounts: Json, faults: int) -> None:
    assert len(quantity_faults("f", amounts)) == faults
