"""Validation of built-in kinds: the most common errors in manifests.

This is a subset of Kubernetes' validation: the rules that users meet most often, and those that the
services must not break unnoticed (immutable pod specs, container names, quantities).
"""

import copy
from typing import Final

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.schema.defaults import quantity_faults
from vc.simcluster.schema.metadata import LABEL_RULE, is_label
from vc.simcluster.store.failures import (
    FieldFault,
    forbidden_field,
    invalid_value,
    required,
    unsupported_value,
)
from vc.simcluster.store.resource import Resource

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
PRIORITY_USER_MAX: Final = 1_000_000_000
_POD_MAY_CHANGE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)


def builtin_faults(resource: Resource, obj: JsonObject, old: JsonObject | None) -> list[FieldFault]:
    """The faults of a new object, or of the change from an old one."""
    match resource.storage:
        case ("", "pods"):
            return pod_faults(obj) if old is None else pod_update_faults(obj, old)
        case ("scheduling.k8s.io", "priorityclasses"):
            return _priority_class_faults(obj, old)
        case ("", "services"):
            return _service_faults(obj)
        case ("", "nodes"):
            return quantity_faults("status.capacity", (obj.get("status") or {}).get("capacity", {}))
        case ("policy", "poddisruptionbudgets"):
            return _budget_faults(obj)
        case _:
            return []


def pod_faults(pod: JsonObject) -> list[FieldFault]:
    spec: Json = pod.get("spec")
    if not isinstance(spec, dict):
        return [required("spec")]
    faults = _container_list_faults(spec.get("containers"), "spec.containers")
    # A missing list is reported as required, not as a wrong type.
    if not spec.get("containers"):
        faults = [required("spec.containers")]
    if spec.get("initContainers") is not None:
        faults += _container_list_faults(spec["initContainers"], "spec.initContainers")
    if spec.get("restartPolicy") not in _RESTART_POLICIES:
        faults.append(
            unsupported_value("spec.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES)
        )
    grace = spec.get("terminationGracePeriodSeconds")
    if not isinstance(grace, int) or isinstance(grace, bool):
        faults.append(
            invalid_value("spec.terminationGracePeriodSeconds", grace, "must be an integer")
        )
    if spec.get("schedulingGates") and spec.get("nodeName"):
        faults.append(
            forbidden_field(
                "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
            )
        )
    return faults


def _container_list_faults(listed: Json, field: str) -> list[FieldFault]:
    if not isinstance(listed, list):
        return [invalid_value(field, listed, "must be a list")]
    faults: list[FieldFault] = []
    seen: set[str] = set()
    for index, container in enumerate(listed):
        where = f"{field}[{index}]"
        if not isinstance(container, dict):
            faults.append(invalid_value(where, container, "must be an object"))
            continue
        name = container.get("name")
        if not name:
            faults.append(required(f"{where}.name"))
        elif not is_label(name):
            faults.append(invalid_value(f"{where}.name", name, LABEL_RULE))
        # Strategic merge and logs identify containers by name, so names must be unique.
        elif name in seen:
            message = f'Duplicate value: "{name}"'
            faults.append(
                FieldFault(field=f"{where}.name", message=message, reason="FieldValueDuplicate")
            )
        else:
            seen.add(name)
        faults += _resource_faults(container.get("resources"), f"{where}.resources")
    return faults


def _resource_faults(resources: Json, field: str) -> list[FieldFault]:
    if resources is None:
        return []
    if not isinstance(resources, dict):
        return [invalid_value(field, resources, "must be an object")]
    faults: list[FieldFault] = []
    for which in ("requests", "limits"):
        if resources.get(which) is not None:
            faults += quantity_faults(f"{field}.{which}", resources[which])
    return faults


def pod_update_faults(pod: JsonObject, old: JsonObject) -> list[FieldFault]:
    """The faults of a pod update.

    Most of the spec is immutable, because it was scheduled as it is.
    """
    new_spec, old_spec = pod.get("spec"), old.get("spec")
    if new_spec == old_spec:
        return []
    if not isinstance(new_spec, dict) or not isinstance(old_spec, dict):
        return [required("spec")]
    # As in Kubernetes, scheduling gates can only be removed after the creation of the pod.
    gates = [g.get("name") for g in old_spec.get("schedulingGates") or []]
    added = [g for g in new_spec.get("schedulingGates") or [] if g.get("name") not in gates]
    if added:
        why = (
            "only deletion is allowed, but found new scheduling gate '"
            + str(added[0].get("name"))
            + "'"
        )
        return [forbidden_field("spec.schedulingGates", why)]
    same = _frozen_part(new_spec, gated=bool(gates)) == _frozen_part(old_spec, gated=bool(gates))
    kept = all(t in (new_spec.get("tolerations") or []) for t in old_spec.get("tolerations") or [])
    return [] if same and kept else [forbidden_field("spec", _POD_MAY_CHANGE)]


def _frozen_part(spec: JsonObject, *, gated: bool) -> JsonObject:
    """The immutable part of a spec. Node selector and affinity of a gated pod may still change."""
    frozen = copy.deepcopy(spec)
    free = ["activeDeadlineSeconds", "tolerations", "schedulingGates"]
    free += ["nodeSelector", "affinity"] if gated else []
    for name in free:
        frozen.pop(name, None)
    # A negative grace period may be set to 1 later, so both count as the same.
    if frozen.get("terminationGracePeriodSeconds", 0) <= 1:
        frozen.pop("terminationGracePeriodSeconds", None)
    for name in ("containers", "initContainers"):
        for container in frozen.get(name) or []:
            container.pop("image", None)
    return frozen


def _priority_class_faults(obj: JsonObject, old: JsonObject | None) -> list[FieldFault]:
    value, name = obj.get("value", 0), obj["metadata"].get("name", "")
    if not isinstance(value, int) or isinstance(value, bool):
        return [invalid_value("value", value, "must be an integer")]
    if old is not None and value != old.get("value", 0):
        return [forbidden_field("value", "may not be changed in an update.")]
    # Higher values are reserved for the system classes.
    if value > PRIORITY_USER_MAX and not name.startswith("system-"):
        why = f"maximum allowed value of a user defined priority is {PRIORITY_USER_MAX}"
        return [forbidden_field("value", why)]
    return []


def _service_faults(obj: JsonObject) -> list[FieldFault]:
    spec = obj.get("spec") or {}
    headless = spec.get("clusterIP") == "None" or spec.get("type") == "ExternalName"
    return [] if headless or spec.get("ports") else [required("spec.ports")]


def _budget_faults(obj: JsonObject) -> list[FieldFault]:
    spec = obj.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        return [invalid_value("spec", spec, "minAvailable and maxUnavailable cannot be both set")]
    return []
