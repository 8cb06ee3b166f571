"""Ownership of fields, as server-side apply records it in `metadata.managedFields`.

It is recorded only for objects that were applied at least once. Before that it is not needed, and
it would double the size of a pod that several controllers write. At the first apply all existing
fields belong to `before-first-apply`, as on a real server for objects without managedFields.
"""

from typing import Final

import msgspec

from vc.model.api.struct import JsonObject
from vc.simcluster.apply.fieldsets import Path, Walker, from_fields_v1, to_fields_v1
from vc.simcluster.store.resource import Resource

BEFORE_FIRST_APPLY: Final = "before-first-apply"
UNKNOWN_MANAGER: Final = "unknown"
_MISSING: Final = object()


class Entry(msgspec.Struct, kw_only=True):
    """The fields of one manager."""

    manager: str
    operation: str
    api_version: str
    time: str
    paths: set[Path]
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.manager, self.operation, self.subresource)


def read_entries(obj: JsonObject) -> list[Entry]:
    return [
        Entry(
            manager=one.get("manager", ""),
            operation=one.get("operation", ""),
            api_version=one.get("apiVersion", ""),
            time=one.get("time", ""),
            paths=from_fields_v1(one.get("fieldsV1")),
            subresource=one.get("subresource", ""),
        )
        for one in obj["metadata"].get("managedFields") or []
    ]


def write_entries(obj: JsonObject, entries: list[Entry]) -> None:
    """Write the entries. Entries without fields are dropped."""
    obj["metadata"]["managedFields"] = [
        {
            "manager": entry.manager,
            "operation": entry.operation,
            "apiVersion": entry.api_version,
            "time": entry.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(entry.paths),
        }
        | ({"subresource": entry.subresource} if entry.subresource else {})
        for entry in entries
        if entry.paths
    ]


def track_update(  # the parts of one update
    resource: Resource,
    old: JsonObject,
    new: JsonObject,
    manager: str,
    subresource: str,
    now: str,
) -> None:
    """Record the ownership of a write that is not an apply: the writer owns what it changed."""
    known = old["metadata"].get("managedFields")
    # Never applied: the update need not be tracked, which keeps objects small.
    if not known:
        new["metadata"].pop("managedFields", None)
        return
    # A client may send back an outdated list or none, and only the server maintains it.
    new["metadata"]["managedFields"] = known
    walker = Walker(resource)
    before, after = walker.values(old), walker.values(new)
    changed = {path for path, value in after.items() if before.get(path, _MISSING) != value}
    gone = before.keys() - after.keys()
    # Without a change the times of the entries must stay, or the write would not be a no-op.
    if not changed and not gone:
        return
    entries = read_entries(old)
    # Kubernetes keeps separate entries for Update and Apply of one manager, and for subresources.
    mine = (manager or UNKNOWN_MANAGER, "Update", subresource)
    # Changed fields leave all other managers, removed fields leave every manager.
    for entry in entries:
        entry.paths -= gone if entry.key == mine else changed | gone
    own = next((entry for entry in entries if entry.key == mine), None)
    if own is None:
        own = Entry(
            manager=mine[0], operation="Update", api_version=resource.api_version,
            time=now, paths=set(), subresource=subresource,
        )  # fmt: skip
        entries.append(own)
    own.paths |= changed
    own.time = now
    write_entries(new, entries)
