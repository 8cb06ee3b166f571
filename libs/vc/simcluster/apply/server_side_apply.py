"""Server-side apply: a manager declares the fields it owns and their values.

A field that another manager owns with another value is a conflict, unless forced. A field that this
manager owned and no longer declares is removed, unless another manager owns it, too.
"""

import msgspec

from vc.cluster.errors import ConflictError
from vc.model.api.struct import JsonObject
from vc.simcluster.apply.fieldsets import Path, Values, Walker, readable, remove_path
from vc.simcluster.apply.managed_fields import (
    BEFORE_FIRST_APPLY,
    Entry,
    read_entries,
    write_entries,
)
from vc.simcluster.store.resource import Resource


class ApplyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The manager of an apply and its options."""

    manager: str
    now: str
    force: bool = False
    subresource: str = ""


def first_apply(resource: Resource, config: JsonObject, options: ApplyOptions) -> JsonObject:
    """The object to create if it does not exist yet."""
    obj = dict(config)
    obj["metadata"] = dict(config.get("metadata") or {})
    write_entries(obj, [_entry(resource, set(Walker(resource).values(config)), options)])
    return obj


def _entry(resource: Resource, paths: set[Path], options: ApplyOptions) -> Entry:
    return Entry(
        manager=options.manager,
        operation="Apply",
        api_version=resource.api_version,
        time=options.now,
        paths=paths,
        subresource=options.subresource,
    )


def apply_config(
    resource: Resource, live: JsonObject, config: JsonObject, options: ApplyOptions
) -> JsonObject:
    """The live object after the apply. ConflictError names every field with another owner."""
    walker = Walker(resource)
    have, wanted = walker.values(live), walker.values(config)
    entries = read_entries(live)
    if not entries:
        # The object was never applied: its present fields get an owner, so that conflicts are
        # detected.
        first = _entry(resource, set(have), options)
        entries = [msgspec.structs.replace(first, manager=BEFORE_FIRST_APPLY, operation="Update")]
    key = (options.manager, "Apply", options.subresource)
    mine = next((entry for entry in entries if entry.key == key), None)
    others = [entry for entry in entries if entry.key != key]
    clashes = _clashes(have, wanted, others)
    if clashes and not options.force:
        raise _conflict(clashes)
    # A forced apply takes the field away from its previous owner.
    for entry, path in clashes:
        entry.paths.discard(path)
    merged = walker.merge(live, config)
    # The merge shares unchanged parts with the live object, and the entries are set below.
    merged["metadata"] = dict(merged["metadata"])
    before = mine.paths if mine else set()
    # The merge keeps all live fields, so those that are no longer declared are removed here.
    merged = _without_dropped(merged, before - wanted.keys(), others)
    new = _entry(resource, set(wanted), options)
    # An unchanged set of fields keeps its time, so that a repeated apply writes nothing.
    if mine is not None and before == new.paths:
        new.time = mine.time
    write_entries(merged, _in_order(entries, mine, new))
    return merged


def _in_order(entries: list[Entry], mine: Entry | None, new: Entry) -> list[Entry]:
    # Entries keep their position, or a repeated apply would change the object and write it.
    if mine is None:
        return [*entries, new]
    return [new if entry is mine else entry for entry in entries]


def _clashes(have: Values, wanted: Values, others: list[Entry]) -> list[tuple[Entry, Path]]:
    # An equal value is no conflict: both managers then own the field, as in Kubernetes.
    return [
        (entry, path)
        for entry in others
        for path in sorted(entry.paths & wanted.keys())
        if path in have and have[path] != wanted[path]
    ]


def _conflict(clashes: list[tuple[Entry, Path]]) -> ConflictError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{entry.manager}" using {entry.api_version}',
            "field": readable(path),
        }
        for entry, path in clashes
    ]
    if len(causes) == 1:
        said = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        said = f"{len(causes)} conflicts: {_by_manager(clashes)}"
    return ConflictError(f"Apply failed with {said}", details={"causes": causes})


def _by_manager(clashes: list[tuple[Entry, Path]]) -> str:
    """One heading per manager and one line per field, as kubectl shows them."""
    fields: dict[str, list[str]] = {}
    for entry, path in clashes:
        heading = f'conflicts with "{entry.manager}" using {entry.api_version}:'
        fields.setdefault(heading, []).append(f"- {readable(path)}")
    return "\n".join("\n".join([heading, *lines]) for heading, lines in fields.items())


def _without_dropped(obj: JsonObject, dropped: set[Path], others: list[Entry]) -> JsonObject:
    """Remove the fields that this manager no longer declares and no other manager owns.

    Shorter paths come first, so that a whole element is removed before its members.
    """
    copied: JsonObject = msgspec.json.decode(msgspec.json.encode(obj))
    removed: set[Path] = set()
    for path in sorted(dropped, key=lambda one: (len(one), one)):
        # The members of a removed element are gone with it, and their paths match no element.
        inside = any(path[:length] in removed for length in range(1, len(path)))
        # A field stays, too, if another manager owns something below it.
        held = any(other[: len(path)] == path for entry in others for other in entry.paths)
        if not inside and not held:
            remove_path(copied, path)
            removed.add(path)
    return copied
