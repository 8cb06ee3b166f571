"""CustomResourceDefinitions as objects: creating one adds a resource, deleting one removes it.

This is simpler than in Kubernetes. A definition is established at once. Deleting it deletes its
objects, regardless of their finalizers.
"""

from functools import partial

import msgspec

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.schema.builtin_resources import CRDS
from vc.simcluster.schema.registry import Registry, crd_resources
from vc.simcluster.store.background import BackgroundSteps
from vc.simcluster.store.failures import FieldFault, invalid_value, required
from vc.simcluster.store.store import DELETED, Change, Store, Table


class _Names(msgspec.Struct):
    kind: str
    plural: str


class _Version(msgspec.Struct):
    name: str
    served: bool
    storage: bool
    schema: JsonObject | None = None


class _Spec(msgspec.Struct):
    """The parts of a definition without which it cannot be served."""

    group: str
    names: _Names
    scope: str
    versions: list[_Version]


def definition_faults(crd: JsonObject) -> list[FieldFault]:
    """The reasons why a definition cannot be served."""
    written: Json = crd.get("spec")
    try:
        spec = msgspec.convert(written, _Spec)
    except msgspec.ValidationError as error:
        return [invalid_value("spec", type(written).__name__, str(error))]
    faults = []
    expected = f"{spec.names.plural}.{spec.group}"
    # Clients find a CRD by this name, so Kubernetes enforces it.
    if crd["metadata"].get("name") != expected:
        why = f'must be spec.names.plural+"."+spec.group, which is {expected}'
        faults.append(invalid_value("metadata.name", crd["metadata"].get("name"), why))
    # Objects are stored in one version; with none or two of them the form would be undefined.
    if [version.storage for version in spec.versions].count(True) != 1:
        why = "must have exactly one version marked as storage version"
        faults.append(invalid_value("spec.versions", len(spec.versions), why))
    faults += [
        required(f"spec.versions[{index}].schema.openAPIV3Schema", "schemas are required")
        for index, version in enumerate(spec.versions)
        if not (version.schema or {}).get("openAPIV3Schema")
    ]
    return faults


def establish(crd: JsonObject, now: str) -> None:
    """Set the status of a served definition."""
    names = dict(crd["spec"]["names"])
    # Kubernetes sets these defaults in the spec, where clients read them.
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", names["kind"] + "List")
    crd["spec"]["names"] = names
    status = crd.setdefault("status", {})
    status["acceptedNames"] = names
    status["storedVersions"] = [v["name"] for v in crd["spec"]["versions"] if v.get("storage")]
    status["conditions"] = [
        _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
        _condition(
            "Established", "InitialNamesAccepted", "the initial names have been accepted", now
        ),
    ]


def _condition(kind: str, reason: str, message: str, now: str) -> JsonObject:
    return {
        "type": kind, "status": "True", "lastTransitionTime": now,
        "reason": reason, "message": message,
    }  # fmt: skip


class Definitions:
    """Keeps the registry consistent with the definitions in the store."""

    def __init__(self, store: Store, registry: Registry, background: BackgroundSteps) -> None:
        self._store = store
        self._registry = registry
        self._background = background

    def observe(self, table: Table, change: Change) -> None:
        if table.resource.storage != CRDS.storage:
            return
        if change.type == DELETED:
            self._background.add(partial(self._end, change.record.object()))
        else:
            # At once and not as a step: the next request must already find the resource.
            self._registry.add_crd(change.record.object())

    def _end(self, crd: JsonObject) -> None:
        if self._store.find(CRDS, ("", crd["metadata"]["name"])) is not None:
            return  # created again in the meantime
        # All versions share one table, so the first version finds every object.
        for resource in crd_resources(crd)[:1]:
            for key in list(self._store.table(resource).keys):
                self._store.remove(resource, key)
        self._registry.remove_crd(crd["metadata"]["name"])
