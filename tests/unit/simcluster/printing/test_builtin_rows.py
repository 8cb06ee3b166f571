"""`kubectl get` of built-in kinds: the columns and cells that the server computes."""

from typing import Final

import msgspec
import pytest

from vc.model.api.struct import Json, JsonObject
from vc.model.values.times import parse_time
from vc.simcluster.printing.builtin import BUILT_IN
from vc.simcluster.printing.columns import Printer
from vc.simcluster.printing.workloads import selector_text

CREATED: Final = "2026-01-01T00:00:00Z"
NOW: Final = (parse_time(CREATED) or 0.0) + 300.0


class Row(msgspec.Struct, frozen=True):
    """An object and some of its cells, by column."""

    id: str
    kind: tuple[str, str]
    body: JsonObject
    cells: dict[str, Json]


def cells(kind: tuple[str, str], body: JsonObject) -> dict[str, Json]:
    printer: Printer = BUILT_IN[kind]
    meta = {"name": "x", "creationTimestamp": CREATED, **body.get("metadata", {})}
    values = printer.cells({**body, "metadata": meta}, NOW)
    assert len(values) == len(printer.columns)
    return {column.name: value for column, value in zip(printer.columns, values, strict=True)}


TEMPLATE: Final[JsonObject] = {
    "spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]}
}
READY: Final[JsonObject] = {"conditions": [{"type": "Ready", "status": "True"}]}
ROWS = [
    Row("a ready node", ("", "nodes"), {"status": READY}, {"Status": "Ready", "Roles": "<none>", "Age": "5m"}),
    Row("a node that is not ready", ("", "nodes"), {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, {"Status": "NotReady"}),
    Row("a node without conditions", ("", "nodes"), {}, {"Status": "Unknown", "OS-Image": "<unknown>", "Internal-IP": "<none>"}),
    Row("a cordoned node", ("", "nodes"), {"status": READY, "spec": {"unschedulable": True}}, {"Status": "Ready,SchedulingDisabled"}),
    Row("the roles of a node", ("", "nodes"), {"metadata": {"labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/gpu": "", "other": "x"}}}, {"Roles": "gpu,worker"}),
    Row("the addresses of a node", ("", "nodes"), {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "ExternalIP", "address": "1.2.3.4"}], "nodeInfo": {"kubeletVersion": "v1.35.0"}}}, {"Internal-IP": "10.0.0.1", "External-IP": "1.2.3.4", "Version": "v1.35.0"}),
    Row("a cluster IP service", ("", "services"), {"spec": {"type": "ClusterIP", "clusterIP": "10.96.0.7", "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}], "selector": {"app": "web"}}}, {"Type": "ClusterIP", "Cluster-IP": "10.96.0.7", "External-IP": "<none>", "Port(s)": "80/TCP,53/UDP", "Selector": "app=web"}),
    Row("a headless service without ports", ("", "services"), {"spec": {}}, {"Cluster-IP": "<none>", "Port(s)": "<none>", "Selector": "<none>"}),
    Row("a node port", ("", "services"), {"spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}}, {"Port(s)": "80:30080/TCP"}),
    Row("an external name", ("", "services"), {"spec": {"type": "ExternalName", "externalName": "example.com"}}, {"External-IP": "example.com"}),
    Row("a namespace", ("", "namespaces"), {"status": {"phase": "Terminating"}}, {"Status": "Terminating"}),
    Row("a namespace without a status", ("", "namespaces"), {}, {"Status": "Active"}),
    Row("a config map", ("", "configmaps"), {"data": {"a": "1"}, "binaryData": {"b": "Mg=="}}, {"Data": 2}),
    Row("a secret", ("", "secrets"), {"type": "kubernetes.io/tls", "data": {"a": "1"}}, {"Type": "kubernetes.io/tls", "Data": 1}),
    Row("a service account", ("", "serviceaccounts"), {"secrets": [{"name": "t"}]}, {"Secrets": 1}),
    Row("a core event", ("", "events"), {"involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{main}"}, "type": "Warning", "reason": "Failed", "message": " no \n", "count": 3, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:04:00Z", "source": {"component": "kubelet", "host": "n0"}}, {"Last Seen": "60s", "First Seen": "5m", "Type": "Warning", "Object": "pod/p", "Subobject": "spec.containers{main}", "Source": "kubelet, n0", "Message": "no", "Count": 3}),
    Row("an event of events.k8s.io", ("events.k8s.io", "events"), {"regarding": {"kind": "Job", "name": "j"}, "note": "hi", "eventTime": "2026-01-01T00:00:00Z", "series": {"count": 9, "lastObservedTime": "2026-01-01T00:04:30Z"}, "reportingComponent": "sched"}, {"Last Seen": "30s", "Object": "job/j", "Message": "hi", "Count": 9, "Source": "sched"}),
    Row("an event without times", ("", "events"), {}, {"Last Seen": "<unknown>", "First Seen": "<unknown>", "Count": 1}),
    Row("a bound claim", ("", "persistentvolumeclaims"), {"spec": {"volumeName": "pv", "storageClassName": "fast", "volumeMode": "Filesystem"}, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}}, {"Status": "Bound", "Volume": "pv", "Capacity": "1Gi", "Access Modes": "RWO,ROX", "StorageClass": "fast", "VolumeAttributesClass": "<unset>"}),
    Row("a pending claim shows no capacity", ("", "persistentvolumeclaims"), {"spec": {}, "status": {"phase": "Pending", "capacity": {"storage": "1Gi"}}}, {"Status": "Pending", "Capacity": "", "Access Modes": ""}),
    Row("a terminating claim", ("", "persistentvolumeclaims"), {"metadata": {"deletionTimestamp": CREATED}, "status": {"phase": "Bound"}}, {"Status": "Terminating"}),
    Row("a volume", ("", "persistentvolumes"), {"spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteMany"], "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "ns", "name": "c"}}, "status": {"phase": "Bound"}}, {"Capacity": "5Gi", "Access Modes": "RWX", "Reclaim Policy": "Retain", "Status": "Bound", "Claim": "ns/c", "VolumeMode": "<unset>"}),
    Row("a free volume", ("", "persistentvolumes"), {"spec": {}, "status": {"phase": "Available"}}, {"Claim": "", "Status": "Available"}),
    Row("a budget by minimum", ("policy", "poddisruptionbudgets"), {"spec": {"minAvailable": 2}, "status": {"disruptionsAllowed": 1}}, {"Min Available": "2", "Max Unavailable": "N/A", "Allowed Disruptions": 1}),
    Row("a budget by percentage", ("policy", "poddisruptionbudgets"), {"spec": {"maxUnavailable": "25%"}}, {"Min Available": "N/A", "Max Unavailable": "25%", "Allowed Disruptions": 0}),
    Row("the default storage class", ("storage.k8s.io", "storageclasses"), {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}, "provisioner": "p"}, {"Name": "x (default)", "Provisioner": "p", "ReclaimPolicy": "Delete", "VolumeBindingMode": "Immediate", "AllowVolumeExpansion": False}),
    Row("a priority class", ("scheduling.k8s.io", "priorityclasses"), {"value": 7, "globalDefault": True}, {"Value": 7, "Global-Default": True, "PreemptionPolicy": "PreemptLowerPriority"}),
    Row("a resource quota", ("", "resourcequotas"), {"status": {"hard": {"requests.cpu": "4", "limits.cpu": "8", "pods": "10"}, "used": {"requests.cpu": "1", "pods": "2"}}}, {"Request": "pods: 2/10, requests.cpu: 1/4", "Limit": "limits.cpu: 0/8"}),
    Row("a network policy", ("networking.k8s.io", "networkpolicies"), {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}, {"Pod-Selector": "a=b"}),
    Row("a lease", ("coordination.k8s.io", "leases"), {"spec": {"holderIdentity": "me"}}, {"Holder": "me"}),
    Row("a lease without a holder", ("coordination.k8s.io", "leases"), {"spec": {"holderIdentity": None}}, {"Holder": ""}),
    Row("a CRD", ("apiextensions.k8s.io", "customresourcedefinitions"), {}, {"Name": "x", "Created At": CREATED}),
    Row("webhooks", ("admissionregistration.k8s.io", "validatingwebhookconfigurations"), {"webhooks": [{}, {}]}, {"Webhooks": 2}),
    Row("a deployment", ("apps", "deployments"), {"spec": {"replicas": 3, "template": TEMPLATE, "selector": {"matchLabels": {"app": "w"}}}, "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}}, {"Ready": "2/3", "Up-to-date": 3, "Available": 1, "Containers": "a,b", "Images": "i:1,j:2", "Selector": "app=w"}),
    Row("a deployment without a status", ("apps", "deployments"), {"spec": {}}, {"Ready": "0/1", "Up-to-date": 0, "Containers": ""}),
    Row("a replica set", ("apps", "replicasets"), {"spec": {"replicas": 2}, "status": {"replicas": 2, "readyReplicas": 1}}, {"Desired": 2, "Current": 2, "Ready": 1}),
    Row("a stateful set", ("apps", "statefulsets"), {"spec": {"replicas": 2, "template": TEMPLATE}, "status": {"readyReplicas": 2}}, {"Ready": "2/2", "Images": "i:1,j:2"}),
    Row("a daemon set", ("apps", "daemonsets"), {"spec": {"template": {"spec": {"nodeSelector": {"gpu": "yes"}}}}, "status": {"desiredNumberScheduled": 4, "currentNumberScheduled": 3, "numberReady": 2, "updatedNumberScheduled": 1, "numberAvailable": 2}}, {"Desired": 4, "Current": 3, "Ready": 2, "Up-to-date": 1, "Available": 2, "Node Selector": "gpu=yes"}),
    Row("a running batch job", ("batch", "jobs"), {"spec": {"completions": 3}, "status": {"succeeded": 1, "startTime": CREATED}}, {"Status": "Running", "Completions": "1/3", "Duration": "5m"}),
    Row("a completed batch job", ("batch", "jobs"), {"spec": {"completions": 1}, "status": {"succeeded": 1, "startTime": CREATED, "completionTime": "2026-01-01T00:00:30Z", "conditions": [{"type": "Complete", "status": "True"}]}}, {"Status": "Complete", "Completions": "1/1", "Duration": "30s"}),
    Row("a failed batch job", ("batch", "jobs"), {"spec": {}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}, {"Status": "Failed", "Duration": ""}),
    Row("a suspended batch job", ("batch", "jobs"), {"spec": {}, "status": {"conditions": [{"type": "Suspended", "status": "True"}]}}, {"Status": "Suspended"}),
    Row("a terminating batch job", ("batch", "jobs"), {"metadata": {"deletionTimestamp": CREATED}, "spec": {}}, {"Status": "Terminating"}),
    Row("a work queue job", ("batch", "jobs"), {"spec": {"parallelism": 4}}, {"Completions": "0/1 of 4"}),
    Row("a cron job", ("batch", "cronjobs"), {"spec": {"schedule": "0 * * * *", "suspend": True, "jobTemplate": {"spec": {"template": TEMPLATE}}}, "status": {"active": [{}], "lastScheduleTime": "2026-01-01T00:03:00Z"}}, {"Schedule": "0 * * * *", "Timezone": "<none>", "Suspend": "True", "Active": 1, "Last Schedule": "2m", "Images": "i:1,j:2"}),
    Row("a cron job that never ran", ("batch", "cronjobs"), {"spec": {"schedule": "@daily", "timeZone": "UTC"}}, {"Timezone": "UTC", "Suspend": "False", "Last Schedule": "<none>"}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_the_cells_of_a_row(row: Row) -> None:
    found = cells(row.kind, row.body)
    assert {name: found[name] for name in row.cells} == row.cells


@pytest.mark.parametrize("kind", BUILT_IN, ids="/".join)
def test_an_object_with_metadata_only_has_all_cells(kind: tuple[str, str]) -> None:
    """Objects of other clients may lack any field; printing must not fail."""
    body: JsonObject = {"spec": {"containers": []}, "status": {}}
    assert cells(kind, body)["Name"].startswith("x")


@pytest.mark.parametrize("kind", BUILT_IN, ids="/".join)
def test_the_name_column_has_the_format_that_kubectl_looks_for(kind: tuple[str, str]) -> None:
    """kubectl finds the column for `-o name` and `--show-kind` by this format."""
    assert [c.name for c in BUILT_IN[kind].columns if c.format == "name"] == ["Name"]


SELECTORS = [
    ("none", None, "<none>"),
    ("labels are sorted", {"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
    ("In", {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, "a in (1,2)"),
    ("NotIn", {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, "a notin (1)"),
    ("Exists", {"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a"),
    ("DoesNotExist", {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, "!a"),
    ("both", {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}, "a=1,b"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("selector", "text"), [case[1:] for case in SELECTORS], ids=[case[0] for case in SELECTORS]
)
def test_selectors_are_printed_in_the_syntax_of_the_command_line(
    selector: JsonObject | None, text: str
) -> None:
    assert selector_text(selector) == text
