"""Rules of updates: the server owns the identity, and each subresource owns its part."""

from typing import Final

from vc.cluster.errors import ConflictError
from vc.model.api.struct import JsonObject
from vc.simcluster.store.failures import (
    FieldFault,
    bad_request,
    conflict,
    forbidden_field,
    invalid_value,
)
from vc.simcluster.store.resource import Resource

_SERVER_OWNED: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
)
_WITHOUT_GENERATION: Final = frozenset({
    ("", "namespaces"), ("", "nodes"), ("", "services"), ("", "configmaps"), ("", "secrets"),
    ("", "events"), ("", "serviceaccounts"), ("", "persistentvolumes"), ("", "endpoints"),
    ("", "persistentvolumeclaims"), ("", "resourcequotas"), ("", "limitranges"),
    ("coordination.k8s.io", "leases"), ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "csinodes"),
    ("rbac.authorization.k8s.io", "roles"), ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
})  # fmt: skip
_STATUS_ON_CREATE: Final = frozenset({
    ("", "nodes"), ("", "namespaces"), ("", "persistentvolumes"),
})  # fmt: skip
"""Built-in kinds whose status may be set when they are created."""


def has_generation(resource: Resource) -> bool:
    return resource.storage not in _WITHOUT_GENERATION


def drop_status_on_create(resource: Resource, obj: JsonObject) -> None:
    """Drop the status of a new object if it has a status subresource, which is the only way to
    it.
    """
    if resource.has_status and resource.storage not in _STATUS_ON_CREATE:
        obj.pop("status", None)


def check_address(resource: Resource, obj: JsonObject, *, name: str, namespace: str) -> None:
    """Check that the body is the object of the URL, and complete its name and namespace."""
    meta = obj["metadata"]
    written, where = meta.setdefault("name", name), meta.get("namespace", namespace)
    if written != name:
        raise bad_request(
            f"the name of the object ({written}) does not match the name on the URL ({name})"
        )
    if resource.namespaced:
        check_namespace(where, namespace)
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)


def check_namespace(written: str, namespace: str) -> None:
    if written != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_identity(resource: Resource, old: JsonObject, new: JsonObject) -> None:
    """Check uid and resourceVersion of an update. Both are preconditions if they are set."""
    meta, known = new["metadata"], old["metadata"]
    check_uid(resource, known, uid=meta.get("uid") or "")
    version = meta.get("resourceVersion") or ""
    # An empty version and 0 mean an unconditional update, as in the API server.
    if version not in ("", "0", known["resourceVersion"]):
        raise conflict(resource, known["name"])


def check_uid(resource: Resource, meta: JsonObject, *, uid: str) -> None:
    if uid and uid != meta["uid"]:
        raise conflict(
            resource,
            meta["name"],
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}",
        )


def check_preconditions(resource: Resource, meta: JsonObject, wanted: JsonObject) -> None:
    """Check the preconditions of a deletion."""
    check_uid(resource, meta, uid=wanted.get("uid") or "")
    version = wanted.get("resourceVersion") or ""
    if version and version != meta["resourceVersion"]:
        raise ConflictError(
            f'Operation cannot be fulfilled on {resource.qualified} "{meta["name"]}": Precondition '
            f"failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: "
            f"{meta['resourceVersion']}",
            details={"name": meta["name"], "kind": resource.plural},
        )


def carry_over(
    resource: Resource, old: JsonObject, new: JsonObject, *, subresource: str
) -> JsonObject:
    """The object to store: the part that the request may write, and the rest from the old
    object.
    """
    meta = dict(new["metadata"])
    # Values of the client are ignored rather than rejected: clients send back what they read.
    for name in _SERVER_OWNED:
        meta.pop(name, None)
        if name in old["metadata"]:
            meta[name] = old["metadata"][name]
    # Controllers own the status: a write to it must not change the spec, and the reverse.
    if subresource == "status":
        return _with_status(resource, old, new, meta)
    result = new | {"metadata": meta}
    # With a status subresource, a write to the object itself cannot change the status.
    if resource.has_status:
        result.pop("status", None)
        if "status" in old:
            result["status"] = old["status"]
    return result


def _with_status(
    resource: Resource, old: JsonObject, new: JsonObject, meta: JsonObject
) -> JsonObject:
    """The object after a status write.

    Custom resources take only the status; for built-in kinds labels and annotations as well.
    """
    kept = dict(old["metadata"])
    names = () if resource.custom else ("labels", "annotations")
    for name in (*names, "managedFields"):
        kept.pop(name, None)
        if name in meta:
            kept[name] = meta[name]
    result = old | {"metadata": kept}
    result.pop("status", None)
    return result | ({"status": new["status"]} if "status" in new else {})


def bump_generation(resource: Resource, old: JsonObject, new: JsonObject) -> None:
    """Increment the generation if the object changed outside of metadata and status."""
    if not has_generation(resource):
        return
    # Without a status subresource the status is ordinary content, so its changes count.
    ignored = {"metadata", "status"} if resource.has_status else {"metadata"}
    names = (old.keys() | new.keys()) - ignored
    if any(old.get(name) != new.get(name) for name in names):
        new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1


def update_faults(old: JsonObject, new: JsonObject) -> list[FieldFault]:
    """The faults of metadata changes by the rules that all kinds share."""
    known, meta = old["metadata"], new["metadata"]
    faults: list[FieldFault] = []
    # Otherwise the deletion could be delayed for ever by one more finalizer each time.
    if "deletionTimestamp" in known:
        added = [
            f for f in meta.get("finalizers") or [] if f not in (known.get("finalizers") or [])
        ]
        if added:
            why = f"no new finalizers can be added if the object is being deleted, found new finalizers {added!r}"
            faults.append(forbidden_field("metadata.finalizers", why))
    # Two controllers of one object would both try to manage it.
    controllers = [ref for ref in meta.get("ownerReferences") or [] if ref.get("controller")]
    if len(controllers) > 1:
        why = "Only one reference can have Controller set to true"
        faults.append(invalid_value("metadata.ownerReferences", len(controllers), why))
    return faults
