"""The fields that a field selector may use, by kind, and their values in an object."""

from typing import Final

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.store.resource import Resource

_POD: Final = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_INVOLVED: Final = (
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
)
_EVENT: Final = (
    *(f"involvedObject.{part}" for part in _INVOLVED),
    "reason",
    "reportingComponent",
    "source",
    "type",
)

FIELDS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "pods"): _POD,
    ("", "events"): _EVENT,
    ("", "secrets"): ("type",),
    ("", "namespaces"): ("status.phase",),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "services"): ("spec.clusterIP", "spec.type"),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
}
"""Selectable fields by storage. Every kind also has `metadata.name` and `metadata.namespace`."""

_SPLIT: Final = {path: tuple(path.split(".")) for paths in FIELDS.values() for path in paths}
_REGARDING: Final = {f"regarding.{part}": f"involvedObject.{part}" for part in _INVOLVED}
"""Names of the same fields in events.k8s.io, mapped to the stored names."""


def selectable(resource: Resource) -> tuple[str, ...]:
    """All fields that a field selector may use for a resource."""
    return ("metadata.name", "metadata.namespace", *FIELDS.get(resource.storage, ()))


def stored_field(name: str) -> str:
    """The stored name of a field, for a name from either events API."""
    return _REGARDING.get(name, name)


def field_values(resource: Resource, obj: JsonObject) -> dict[str, str]:
    """The selectable values of an object when it is written. An absent value is empty."""
    paths = FIELDS.get(resource.storage)
    return {path: _text(obj, _SPLIT[path]) for path in paths} if paths else {}


def _text(obj: JsonObject, path: tuple[str, ...]) -> str:
    value: Json = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    # `source` is an object in core/v1, but its selector compares the component only.
    if path == ("source",):
        value = value.get("component") if isinstance(value, dict) else value
    # The API server renders an unset boolean field as "false" and any other unset field as "".
    if value is None or isinstance(value, bool):
        return (
            "true" if value else ("false" if path[-1] in ("hostNetwork", "unschedulable") else "")
        )
    return str(value)
