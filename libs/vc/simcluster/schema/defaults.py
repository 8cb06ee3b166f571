"""Defaults that a real API server sets for built-in kinds, and the validation of quantities."""

import base64
from collections.abc import Callable
from typing import Final

from vc.model.api.struct import Json, JsonObject
from vc.model.values.quantity import QuantityError, parse_quantity
from vc.simcluster.schema.pod_defaults import default_pod, default_pod_spec
from vc.simcluster.store.failures import FieldFault, invalid_value
from vc.simcluster.store.resource import Resource

Filler = Callable[[JsonObject], None]


def fill_defaults(resource: Resource, obj: JsonObject) -> None:
    """Set the defaults of a built-in kind in place."""
    filler = _FILLERS.get(resource.storage)
    if filler is not None:
        filler(obj)


def _member(obj: JsonObject, name: str) -> JsonObject:
    """The named member object, created if absent. Other values are left to validation."""
    value = obj.setdefault(name, {})
    return value if isinstance(value, dict) else {}


def _namespace(obj: JsonObject) -> None:
    # A real server sets these fields, and kubectl shows the phase.
    _member(obj, "spec").setdefault("finalizers", ["kubernetes"])
    _member(obj, "status").setdefault("phase", "Active")
    meta = obj["metadata"]
    if isinstance(meta.setdefault("labels", {}), dict) and meta.get("name"):
        # Namespace selectors of webhooks and policies select by this label.
        meta["labels"].setdefault("kubernetes.io/metadata.name", meta["name"])


def _secret(obj: JsonObject) -> None:
    """`stringData` is write-only: it is merged into `data`, encoded in base64."""
    plain = obj.pop("stringData", None)
    if isinstance(plain, dict):
        encoded = {k: base64.b64encode(str(v).encode()).decode() for k, v in plain.items()}
        # The plain value wins over an encoded one of the same key, as in Kubernetes.
        obj["data"] = {**_member(obj, "data"), **encoded}
    obj.setdefault("type", "Opaque")


def _service(obj: JsonObject) -> None:
    spec = _member(obj, "spec")
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    spec.setdefault("internalTrafficPolicy", "Cluster")
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    for port in _objects(spec.get("ports")):
        port.setdefault("protocol", "TCP")
        # Without a target a Service forwards to the same port of its pods.
        port.setdefault("targetPort", port.get("port"))


def _objects(value: Json) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _claim(obj: JsonObject) -> None:
    _member(obj, "spec").setdefault("volumeMode", "Filesystem")
    _member(obj, "status").setdefault("phase", "Pending")


def _volume(obj: JsonObject) -> None:
    _member(obj, "spec").setdefault("persistentVolumeReclaimPolicy", "Retain")
    _member(obj, "status").setdefault("phase", "Available")


def _storage_class(obj: JsonObject) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _workload(obj: JsonObject) -> None:
    spec = _member(obj, "spec")
    # The number of pods of a DaemonSet follows from the nodes.
    if obj.get("kind") != "DaemonSet":
        spec.setdefault("replicas", 1)
    pod = _member(_member(spec, "template"), "spec")
    if pod:
        default_pod_spec(pod)


def _batch_job(obj: JsonObject) -> None:
    spec = _member(obj, "spec")
    # With a parallelism alone the job is a work queue, for which completions must stay unset.
    if spec.get("parallelism") is None:
        spec.setdefault("completions", 1)
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    pod = _member(_member(spec, "template"), "spec")
    if pod:
        default_pod_spec(pod)


def _priority_class(obj: JsonObject) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _event(obj: JsonObject) -> None:
    """Both events APIs write the same storage; readers expect a type and a reporter."""
    obj.setdefault("type", "Normal")
    for name in ("reportingComponent", "reportingInstance"):
        obj.setdefault(name, "")


def _node(obj: JsonObject) -> None:
    _member(obj, "spec")
    status = _member(obj, "status")
    # As in the API server's defaulting of a node: nothing is reserved unless its kubelet says so.
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))


_FILLERS: Final[dict[tuple[str, str], Filler]] = {
    ("", "namespaces"): _namespace,
    ("", "pods"): default_pod,
    ("", "nodes"): _node,
    ("", "secrets"): _secret,
    ("", "services"): _service,
    ("", "events"): _event,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("storage.k8s.io", "storageclasses"): _storage_class,
    ("apps", "deployments"): _workload,
    ("apps", "replicasets"): _workload,
    ("apps", "statefulsets"): _workload,
    ("apps", "daemonsets"): _workload,
    ("batch", "jobs"): _batch_job,
    ("scheduling.k8s.io", "priorityclasses"): _priority_class,
}


def quantity_faults(field: str, amounts: Json) -> list[FieldFault]:
    """The faults of a resource list, whose values must all be non-negative quantities."""
    if not isinstance(amounts, dict):
        return [invalid_value(field, amounts, "must be a map of quantities")]
    faults = []
    for name, text in amounts.items():
        try:
            # A JSON boolean is an int in Python, but it is no quantity.
            if isinstance(text, bool) or not isinstance(text, str | int | float):
                raise QuantityError("must be a quantity")  # noqa: TRY301  one message for both
            if parse_quantity(text, decimals=3) < 0:
                faults.append(
                    invalid_value(f"{field}[{name}]", text, "must be greater than or equal to 0")
                )
        except QuantityError as error:
            faults.append(invalid_value(f"{field}[{name}]", text, str(error)))
    return faults
