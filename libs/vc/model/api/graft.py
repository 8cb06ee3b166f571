"""Changes objects without losing undeclared fields.

Our structs declare fewer fields than an object may have. `graft` gets the raw object, the struct as
decoded and the struct as changed, and applies only the difference to the raw object. Undeclared
fields are kept, also inside lists. `merge_patch` returns the same difference as an RFC 7396 patch.
"""

from typing import Any

import msgspec

from vc.model.api.struct import Json, JsonObject


def to_json(value: Any) -> Json:
    """A struct as plain JSON values."""
    plain: Json = msgspec.to_builtins(value)
    return plain


def graft(raw: JsonObject, before: Any, after: Any) -> JsonObject:
    """The raw object with the difference between two structs applied."""
    grown: JsonObject = _graft(raw, to_json(before), to_json(after))
    return grown


def _graft(raw: Json, before: Json, after: Json) -> Json:
    # The raw value has undeclared fields that neither struct knows; only it keeps them.
    if before == after:
        return raw
    if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
        # Only declared fields can be removed; undeclared ones are in neither struct.
        gone = before.keys() - after.keys()
        grown = {key: value for key, value in raw.items() if key not in gone}
        for key, value in after.items():
            grown[key] = _graft(raw.get(key), before.get(key), value)
        return grown
    # Elements can only be matched if the decoded list has the same elements as the raw one.
    lists = isinstance(raw, list) and isinstance(before, list) and isinstance(after, list)
    if lists and len(raw) == len(before):
        return _graft_list(raw, before, after)
    return after


def _graft_list(raw: list[Json], before: list[Json], after: list[Json]) -> list[Json]:
    grown: list[Json] = []
    for position, element in enumerate(after):
        at = _counterpart(element, position, before=before, after=after)
        grown.append(element if at is None else _graft(raw[at], before[at], element))
    return grown


def _counterpart(
    element: Json, position: int, *, before: list[Json], after: list[Json]
) -> int | None:
    """The index of the element's old version: the one of the same name, else an equal one, else the
    one that was changed at the same position. None for a new element.
    """
    name = _name(element)
    # Names identify the elements of most lists in Kubernetes.
    if name is not None:
        names = [_name(old) for old in before]
        return names.index(name) if name in names else None
    there = position < len(before)
    if there and before[position] == element:
        return position
    # An equal element that moved keeps its undeclared fields.
    if element in before:
        return before.index(element)
    # An old element that is still wanted elsewhere has moved, and its undeclared fields with it.
    changed = there and _name(before[position]) is None and before[position] not in after
    return position if changed else None


def _name(element: Json) -> Json:
    return element.get("name") if isinstance(element, dict) else None


def merge_patch(before: Json, after: Json) -> Json:
    """The smallest RFC 7396 patch that turns `before` into `after`;
    lists are replaced as a whole.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    # A null in a merge patch removes the field.
    patch: JsonObject = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif before[key] != value:
            patch[key] = merge_patch(before[key], value)
    # Sorted, so that equal decisions give equal bytes.
    return {key: patch[key] for key in sorted(patch)}


def apply_merge_patch(target: Json, patch: Json) -> Json:
    """RFC 7396: null removes a member, objects are merged, everything else is replaced."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = apply_merge_patch(merged.get(key), value)
    return merged


def strip_nulls(value: Json) -> Json:
    """The value without null members, which Go clients write for absent fields."""
    if isinstance(value, dict):
        return {key: strip_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [strip_nulls(member) for member in value]
    return value
