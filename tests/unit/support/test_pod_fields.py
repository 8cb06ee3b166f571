"""A field that no pod has is noticed inside a task's template, with its path and the field that was meant."""

import msgspec
import pytest
from kubernetes_asyncio.client import models

from tests.unit.support.objects import admitted, plain, put
from tests.unit.support.schemas import free_paths, kinds
from vc.model.api.pod import Container, PodSpec, Toleration, TopologySpreadConstraint
from vc.model.support.pod_fields import FIELDS, FREE_PARTS, UNKNOWN_MAX, unknown_fields


@pytest.mark.parametrize(
    ("spec", "path", "meant"),
    [
        ({"containers": [{"name": "c", "resorces": {"requests": {"cpu": "1"}}}]}, "spec.containers[0].resorces", "resources"),
        ({"containers": [{"resources": {"request": {"cpu": "1"}}}]}, "spec.containers[0].resources.request", "requests"),
        ({"initContainers": [{"Image": "x"}]}, "spec.initContainers[0].Image", "image"),
        ({"nodeselector": {"a": "b"}}, "spec.nodeselector", "nodeSelector"),
        ({"affinity": {"podAntiAffinty": {}}}, "spec.affinity.podAntiAffinty", "podAntiAffinity"),
        ({"tolerations": [{"keys": "a"}]}, "spec.tolerations[0].keys", "key"),
        ({"volumes": [{"name": "v", "emptydir": {}}]}, "spec.volumes[0].emptydir", "emptyDir"),
        ({"somethingElse": 1}, "spec.somethingElse", ""),
    ],
)  # fmt: skip
def test_a_field_that_no_pod_has(spec: dict[str, object], path: str, meant: str) -> None:
    assert unknown_fields({"spec": spec}) == [(path, meant)]


def test_admission_warns_with_path_and_the_nearest_field() -> None:
    written = plain("Job")
    container = written["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    container["resorces"] = container.pop("resources")
    response = admitted("Job", written)
    assert response.allowed
    assert response.warnings == [
        "spec.tasks[0].template.spec.containers[0].resorces: Kubernetes has no such field, and it has no effect; did you mean resources?"
    ]


def test_free_content_is_not_looked_into() -> None:
    template = {
        "metadata": {"labels": {"resorces": "x"}, "annotations": {"anything": "y"}},
        "spec": {"nodeSelector": {"any": "thing"}, "overhead": {"cpu": "1"},
                 "containers": [{"resources": {"requests": {"example.com/fpga": 1}}}]},
    }  # fmt: skip
    assert unknown_fields(template) == []


def test_the_number_of_warnings_is_bounded() -> None:
    assert len(unknown_fields({f"x{n}": 1 for n in range(1000)})) == UNKNOWN_MAX


def test_types_that_are_named_are_described() -> None:
    named = {kind for fields in FIELDS.values() for kind in fields.values() if kind}
    assert named | {"Template"} == set(FIELDS)
    assert {kind for parts in FREE_PARTS.values() for _, kind in parts} <= set(FIELDS)


def test_every_part_of_a_schema_that_keeps_unknown_fields_is_looked_into() -> None:
    """Of specs: a status is written by us, and JobFlows are refused as a whole."""
    looked = {(kind, path) for kind, parts in FREE_PARTS.items() for path, _ in parts}
    free = {
        (kind, path)
        for kind, schema in kinds().items()
        for path in free_paths(schema)
        if path.startswith("spec") and kind != "JobFlow"
    }
    inside = {(k, p) for k, p in free if any(k == k2 and p.startswith(f"{p2}.") for k2, p2 in free)}
    assert free - inside == looked


@pytest.mark.parametrize(
    ("kind", "path", "part", "warned"),
    [
        ("Job", "spec.volumes[]", {"mountPath": "/d", "volumeClaim": {"storageClasName": "fast"}},
         "spec.volumes[0].volumeClaim.storageClasName: Kubernetes has no such field, and it has no effect; did you mean storageClassName?"),
        ("PodGroup", "spec.subGroupPolicy[]", {"labelSelector": {"matchLabel": {}}},
         "spec.subGroupPolicy[0].labelSelector.matchLabel: Kubernetes has no such field, and it has no effect; did you mean matchLabels?"),
    ],
)  # fmt: skip
def test_claims_and_selectors_are_looked_into(
    kind: str, path: str, part: dict[str, object], warned: str
) -> None:
    assert warned in admitted(kind, put(plain(kind), path, part)).warnings


OURS = {"heldRequests"}
"""Written by the watcher's projection; no field of the API."""


def test_what_our_struct_of_pods_reads_is_known() -> None:
    """The names are written by hand; those that the scheduler reads must be among them."""
    for struct, kind in ((PodSpec, "Spec"), (Container, "Container"), (Toleration, "Toleration")):
        names = {field.encode_name for field in msgspec.structs.fields(struct)}
        assert names - OURS <= set(FIELDS[kind])
    spread = {field.encode_name for field in msgspec.structs.fields(TopologySpreadConstraint)}
    assert spread == set(FIELDS["Spread"])


MODELS = {
    "Template": "V1PodTemplateSpec",
    "Meta": "V1ObjectMeta",
    "Spec": "V1PodSpec",
    "Container": "V1Container",
    "Resources": "V1ResourceRequirements",
    "Request": "CoreV1ResourceClaim",
    "Env": "V1EnvVar",
    "EnvSource": "V1EnvVarSource",
    "EnvFrom": "V1EnvFromSource",
    "KeyRef": "V1SecretKeySelector",
    "OptionalRef": "V1SecretEnvSource",
    "FieldRef": "V1ObjectFieldSelector",
    "ResourceRef": "V1ResourceFieldSelector",
    "Port": "V1ContainerPort",
    "Mount": "V1VolumeMount",
    "Device": "V1VolumeDevice",
    "Resize": "V1ContainerResizePolicy",
    "Lifecycle": "V1Lifecycle",
    "Handler": "V1LifecycleHandler",
    "Probe": "V1Probe",
    "Exec": "V1ExecAction",
    "Http": "V1HTTPGetAction",
    "Sleep": "V1SleepAction",
    "Socket": "V1TCPSocketAction",
    "Grpc": "V1GRPCAction",
    "Security": "V1SecurityContext",
    "Capabilities": "V1Capabilities",
    "PodSecurity": "V1PodSecurityContext",
    "Name": "V1LocalObjectReference",
    "Gate": "V1PodReadinessGate",
    "Claim": "V1PodResourceClaim",
    "Dns": "V1PodDNSConfig",
    "HostAlias": "V1HostAlias",
    "Toleration": "V1Toleration",
    "Spread": "V1TopologySpreadConstraint",
    "Selector": "V1LabelSelector",
    "Requirement": "V1LabelSelectorRequirement",
    "Affinity": "V1Affinity",
    "NodeAffinity": "V1NodeAffinity",
    "PreferredNodes": "V1PreferredSchedulingTerm",
    "RequiredNodes": "V1NodeSelector",
    "NodeTerm": "V1NodeSelectorTerm",
    "PodAffinity": "V1PodAffinity",
    "PreferredPods": "V1WeightedPodAffinityTerm",
    "PodTerm": "V1PodAffinityTerm",
    "Volume": "V1Volume",
    "EmptyDir": "V1EmptyDirVolumeSource",
    "HostPath": "V1HostPathVolumeSource",
    "ClaimRef": "V1PersistentVolumeClaimVolumeSource",
    "Ephemeral": "V1EphemeralVolumeSource",
    "ClaimTemplate": "V1PersistentVolumeClaimTemplate",
    "ClaimSpec": "V1PersistentVolumeClaimSpec",
    "Source": "V1TypedLocalObjectReference",
    "SourceRef": "V1TypedObjectReference",
    "VolumeResources": "V1VolumeResourceRequirements",
}
"""Our name of a type → the client library's."""
AHEAD = {"workloadRef", "podGroupResourceClaim"}
"""Of releases of Kubernetes that the library does not cover."""


def test_the_fields_are_those_of_the_kubernetes_client() -> None:
    assert set(MODELS) == set(FIELDS)
    for kind, model in MODELS.items():
        there = set(getattr(models, model).attribute_map.values())
        assert set(FIELDS[kind]) - AHEAD == there - AHEAD, kind
