"""Change an object without losing what we do not know.

Our structs declare less than an object may hold. `graft` takes the raw object, the struct as read
and the struct as changed, and carries only the difference over to the raw object: undeclared fields
survive, also inside lists. `merge_patch` is the same difference as an RFC 7396 patch.
"""

from typing import Any

import msgspec

from vc_model.struct import Json, JsonObject


def to_json(value: Any) -> Json:
    """A struct as plain JSON values."""
    plain: Json = msgspec.to_builtins(value)
    return plain


def graft(raw: JsonObject, before: Any, after: Any) -> JsonObject:
    """The raw object with the difference between two structs applied."""
    grown: JsonObject = _graft(raw, to_json(before), to_json(after))
    return grown


def _graft(raw: Json, before: Json, after: Json) -> Json:
    if before == after:
        return raw
    if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
        gone = before.keys() - after.keys()
        grown = {key: value for key, value in raw.items() if key not in gone}
        for key, value in after.items():
            grown[key] = _graft(raw.get(key), before.get(key), value)
        return grown
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
    """Which element this one was: of the same name, else an equal one, else the one that was
    changed in its place; None for a new one."""
    name = _name(element)
    if name is not None:
        names = [_name(old) for old in before]
        return names.index(name) if name in names else None
    there = position < len(before)
    if there and before[position] == element:
        return position
    if element in before:
        return before.index(element)
    changed = there and _name(before[position]) is None and before[position] not in after
    return position if changed else None


def _name(element: Json) -> Json:
    return element.get("name") if isinstance(element, dict) else None


def merge_patch(before: Json, after: Json) -> Json:
    """The smallest RFC 7396 patch that turns `before` into `after`; lists are replaced whole."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: JsonObject = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif before[key] != value:
            patch[key] = merge_patch(before[key], value)
    return {key: patch[key] for key in sorted(patch)}


def apply_merge_patch(target: Json, patch: Json) -> Json:
    """RFC 7396: null removes, objects merge, everything else replaces."""
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
    """Without null members: Go clients write `null` where they mean nothing."""
    if isinstance(value, dict):
        return {key: strip_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [strip_nulls(member) for member in value]
    return value
