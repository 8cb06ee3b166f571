"""Table rows of built-in kinds, with the columns of kubectl. For workloads see `workloads`."""

from typing import Final

import msgspec

from vc.model.api.struct import Json, JsonObject
from vc.model.values.ages import UNKNOWN_AGE, age
from vc.simcluster.printing.columns import AGE, NAME, Printer, column
from vc.simcluster.printing.pods import POD
from vc.simcluster.printing.workloads import WORKLOADS, selector_text

_NONE: Final = "<none>"
_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"].get("name", ""))


def _age(obj: JsonObject, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now=now)


def _node(obj: JsonObject, now: float) -> list[Json]:
    status, labels = obj.get("status", {}), obj["metadata"].get("labels") or {}
    info = status.get("nodeInfo") or {}
    addresses = {a.get("type"): a.get("address") for a in status.get("addresses") or []}
    roles = sorted(k.removeprefix(_ROLE_PREFIX) for k in labels if k.startswith(_ROLE_PREFIX))
    return [
        _name(obj),
        _node_status(obj),
        ",".join(roles) or _NONE,
        _age(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or _NONE,
        addresses.get("ExternalIP") or _NONE,
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _node_status(obj: JsonObject) -> str:
    ready = [
        c.get("status") == "True"
        for c in obj.get("status", {}).get("conditions") or []
        if c.get("type") == "Ready"
    ]
    word = ("Ready" if ready[0] else "NotReady") if ready else "Unknown"
    is_cordoned = obj.get("spec", {}).get("unschedulable", False)
    return f"{word},SchedulingDisabled" if is_cordoned else word


def _service(obj: JsonObject, now: float) -> list[Json]:
    spec = obj.get("spec", {})
    external = list(spec.get("externalIPs") or [])
    if spec.get("type") == "ExternalName":
        external.append(spec.get("externalName", ""))
    return [
        _name(obj),
        spec.get("type", "ClusterIP"),
        spec.get("clusterIP") or _NONE,
        ",".join(external) or _NONE,
        ",".join(_port(p) for p in spec.get("ports") or []) or _NONE,
        _age(obj, now),
        selector_text({"matchLabels": spec.get("selector")}),
    ]


def _port(port: JsonObject) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}"


def _event(obj: JsonObject, now: float) -> list[Json]:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    source = obj.get("source") or {}
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    series = obj.get("series") or {}
    # The newer events API records repetitions in a series instead of count and lastTimestamp.
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or first
    component = source.get("component") or obj.get("reportingComponent", "")
    return [
        age(last, now=now) if last else UNKNOWN_AGE,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        ", ".join(part for part in (component, source.get("host", "")) if part),
        (obj.get("message") or obj.get("note") or "").strip(),
        age(first, now=now) if first else UNKNOWN_AGE,
        series.get("count") or obj.get("count") or 1,
        _name(obj),
    ]


def _config_map(obj: JsonObject, now: float) -> list[Json]:
    count = len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
    return [_name(obj), count, _age(obj, now)]


def _secret(obj: JsonObject, now: float) -> list[Json]:
    return [_name(obj), obj.get("type", "Opaque"), len(obj.get("data") or {}), _age(obj, now)]


def _priority_class(obj: JsonObject, now: float) -> list[Json]:
    policy = obj.get("preemptionPolicy") or "PreemptLowerPriority"
    is_default = bool(obj.get("globalDefault", False))
    return [_name(obj), obj.get("value", 0), is_default, _age(obj, now), policy]


def _access(modes: list[str] | None) -> str:
    return ",".join(_ACCESS_MODES.get(mode, mode) for mode in modes or [])


def _claim(obj: JsonObject, now: float) -> list[Json]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    is_leaving = obj["metadata"].get("deletionTimestamp")
    # The capacity of an unbound claim is only a request and is not shown.
    is_bound = bool(spec.get("volumeName"))
    return [
        _name(obj),
        "Terminating" if is_leaving else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "") if is_bound else "",
        _access(status.get("accessModes")) if is_bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or "<unset>",
        _age(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def _volume(obj: JsonObject, now: float) -> list[Json]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    claim = spec.get("claimRef")
    return [
        _name(obj),
        (spec.get("capacity") or {}).get("storage", ""),
        _access(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or "<unset>",
        status.get("reason", ""),
        _age(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def _budget(obj: JsonObject, now: float) -> list[Json]:
    spec = obj.get("spec", {})
    return [
        _name(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        obj.get("status", {}).get("disruptionsAllowed", 0),
        _age(obj, now),
    ]


def _storage_class(obj: JsonObject, now: float) -> list[Json]:
    annotations = obj["metadata"].get("annotations") or {}
    is_default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    return [
        f"{_name(obj)} (default)" if is_default else _name(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion", False)),
        _age(obj, now),
    ]


def _quota(obj: JsonObject, now: float) -> list[Json]:
    status = obj.get("status", {})
    hard, used = status.get("hard") or {}, status.get("used") or {}
    texts = {name: f"{name}: {used.get(name, 0)}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in texts.items() if name.startswith("limits.")]
    requests = [text for name, text in texts.items() if not name.startswith("limits.")]
    return [_name(obj), ", ".join(requests), ", ".join(limits), _age(obj, now)]


def _named(*values: str) -> tuple[Json, ...]:
    return tuple(column(value) for value in values)


def _wide(*values: str) -> tuple[Json, ...]:
    return tuple(column(value, wide=True) for value in values)


_HOOKS: Final = Printer(
    columns=(NAME, column("Webhooks", "integer"), AGE),
    cells=lambda o, now: [_name(o), len(o.get("webhooks") or []), _age(o, now)],
)
_EVENT: Final = Printer(
    columns=(
        *_named("Last Seen", "Type", "Reason", "Object"), *_wide("Subobject", "Source"),
        column("Message"), *_wide("First Seen"), column("Count", "integer", wide=True),
        msgspec.structs.replace(NAME, priority=1),
    ),
    cells=_event,
)  # fmt: skip

BUILT_IN: Final[dict[tuple[str, str], Printer]] = {
    ("", "pods"): POD,
    ("", "nodes"): Printer(
        columns=(
            NAME, *_named("Status", "Roles"), AGE, column("Version"),
            *_wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        cells=_node,
    ),
    ("", "services"): Printer(
        columns=(
            NAME, *_named("Type", "Cluster-IP", "External-IP", "Port(s)"), AGE, *_wide("Selector"),
        ),
        cells=_service,
    ),
    ("", "namespaces"): Printer(
        columns=(NAME, column("Status"), AGE),
        cells=lambda o, now: [_name(o), o.get("status", {}).get("phase", "Active"), _age(o, now)],
    ),
    ("", "events"): _EVENT,
    ("events.k8s.io", "events"): _EVENT,
    ("", "configmaps"): Printer(columns=(NAME, column("Data", "integer"), AGE), cells=_config_map),
    ("", "secrets"): Printer(
        columns=(NAME, column("Type"), column("Data", "integer"), AGE), cells=_secret
    ),
    ("", "serviceaccounts"): Printer(
        columns=(NAME, column("Secrets", "integer"), AGE),
        cells=lambda o, now: [_name(o), len(o.get("secrets") or []), _age(o, now)],
    ),
    ("", "persistentvolumeclaims"): Printer(
        columns=(
            NAME, *_named("Status", "Volume", "Capacity", "Access Modes", "StorageClass"),
            column("VolumeAttributesClass"), AGE, *_wide("VolumeMode"),
        ),
        cells=_claim,
    ),
    ("", "persistentvolumes"): Printer(
        columns=(
            NAME, *_named("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim"),
            *_named("StorageClass", "VolumeAttributesClass", "Reason"), AGE, *_wide("VolumeMode"),
        ),
        cells=_volume,
    ),
    ("", "resourcequotas"): Printer(
        columns=(NAME, *_named("Request", "Limit"), AGE), cells=_quota
    ),
    ("policy", "poddisruptionbudgets"): Printer(
        columns=(
            NAME, *_named("Min Available", "Max Unavailable"),
            column("Allowed Disruptions", "integer"), AGE,
        ),
        cells=_budget,
    ),
    ("scheduling.k8s.io", "priorityclasses"): Printer(
        columns=(
            NAME, column("Value", "integer"), column("Global-Default", "boolean"), AGE,
            column("PreemptionPolicy"),
        ),
        cells=_priority_class,
    ),
    ("storage.k8s.io", "storageclasses"): Printer(
        columns=(
            NAME, *_named("Provisioner", "ReclaimPolicy", "VolumeBindingMode"),
            column("AllowVolumeExpansion", "boolean"), AGE,
        ),
        cells=_storage_class,
    ),
    ("networking.k8s.io", "networkpolicies"): Printer(
        columns=(NAME, column("Pod-Selector"), AGE),
        cells=lambda o, now: [
            _name(o), selector_text(o.get("spec", {}).get("podSelector")), _age(o, now),
        ],
    ),
    ("coordination.k8s.io", "leases"): Printer(
        columns=(NAME, column("Holder"), AGE),
        cells=lambda o, now: [
            _name(o), o.get("spec", {}).get("holderIdentity") or "", _age(o, now),
        ],
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): Printer(
        columns=(NAME, column("Created At")),
        cells=lambda o, _now: [_name(o), o["metadata"].get("creationTimestamp", "")],
    ),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _HOOKS,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _HOOKS,
    **WORKLOADS,
}  # fmt: skip
