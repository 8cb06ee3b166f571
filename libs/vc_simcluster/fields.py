"""Which fields a field selector may ask for, per kind, and their values in an object."""

from typing import Final

from vc_model.struct import Json, JsonObject
from vc_simcluster.resource import Resource

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
"""By storage. `metadata.name` and `metadata.namespace` can be asked of every kind."""

_SPLIT: Final = {path: tuple(path.split(".")) for paths in FIELDS.values() for path in paths}
_REGARDING: Final = {f"regarding.{part}": f"involvedObject.{part}" for part in _INVOLVED}
"""What events.k8s.io calls the same fields."""


def selectable(resource: Resource) -> tuple[str, ...]:
    """Every field that may be asked for."""
    return ("metadata.name", "metadata.namespace", *FIELDS.get(resource.storage, ()))


def stored_field(name: str) -> str:
    """The name of a field as it is stored."""
    return _REGARDING.get(name, name)


def field_values(resource: Resource, obj: JsonObject) -> dict[str, str]:
    """The values at the time of writing; absent ones are empty, as selectors expect."""
    paths = FIELDS.get(resource.storage)
    return {path: _text(obj, _SPLIT[path]) for path in paths} if paths else {}


def _text(obj: JsonObject, path: tuple[str, ...]) -> str:
    value: Json = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if path == ("source",):
        value = value.get("component") if isinstance(value, dict) else value
    if value is None or isinstance(value, bool):
        return (
            "true" if value else ("false" if path[-1] in ("hostNetwork", "unschedulable") else "")
        )
    return str(value)
