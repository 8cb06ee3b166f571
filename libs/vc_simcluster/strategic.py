"""Strategic merge patch: a merge patch that knows which lists are maps.

Elements of such lists are merged by their key; `$patch: delete` and `$patch: replace`,
`$deleteFromPrimitiveList/x`, `$retainKeys` and `$setElementOrder/x` are understood, since kubectl
sends them. Kubernetes identifies ports by `containerPort` (or `port`) alone here; so do we.
"""

from typing import Final

from vc_model.graft import strip_nulls
from vc_model.struct import Json, JsonObject
from vc_simcluster.failures import bad_request
from vc_simcluster.merge_keys import is_set, merge_keys

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE_PRIMITIVES: Final = "$deleteFromPrimitiveList/"


def strategic_merge(obj: JsonObject, patch: JsonObject) -> JsonObject:
    """The object after the patch."""
    return _merge_object(obj, patch, ())


def _merge_object(obj: JsonObject, patch: JsonObject, path: tuple[str, ...]) -> JsonObject:
    directive = patch.get(_PATCH)
    if directive == "replace":
        replaced: JsonObject = _clean(patch)
        return replaced
    if directive == "delete":
        return {}
    merged = dict(obj)
    if _RETAIN in patch:
        merged = {key: value for key, value in merged.items() if key in patch[_RETAIN]}
    for key, value in patch.items():
        if key in (_PATCH, _RETAIN) or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE_PRIMITIVES):
            name = key.removeprefix(_DELETE_PRIMITIVES)
            merged[name] = [kept for kept in merged.get(name) or [] if kept not in value]
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_value(merged.get(key), value, (*path, key))
    for key, order in patch.items():
        name = key.removeprefix(_ORDER)
        if key.startswith(_ORDER) and isinstance(merged.get(name), list):
            merged[name] = _ordered(merged[name], order, (*path, name))
    return merged


def _merge_value(old: Json, new: Json, path: tuple[str, ...]) -> Json:
    if isinstance(new, dict):
        return _merge_object(old if isinstance(old, dict) else {}, new, path)
    if isinstance(new, list):
        return _merge_list(old if isinstance(old, list) else [], new, path)
    return new


def _merge_list(old: list[Json], new: list[Json], path: tuple[str, ...]) -> list[Json]:
    keys = merge_keys(path, [*old, *new])[:1]
    if is_set(path):
        return old + [value for value in new if value not in old]
    replaced = any(isinstance(e, dict) and e.get(_PATCH) == "replace" for e in new)
    if not keys or replaced:
        return [_clean(e) for e in new if not (isinstance(e, dict) and e.get(_PATCH) == "replace")]
    return _merge_by_key(old, new, key=keys[0], path=path)


def _merge_by_key(
    old: list[Json], new: list[Json], *, key: str, path: tuple[str, ...]
) -> list[Json]:
    merged = list(old)
    for element in new:
        if key not in element:
            raise bad_request(f"map: {'.'.join(path)}: an element does not contain its key {key!r}")
        at = next((i for i, e in enumerate(merged) if e.get(key) == element[key]), None)
        if element.get(_PATCH) == "delete":
            if at is not None:
                del merged[at]
        elif at is None:
            merged.append(_clean(element))
        else:
            merged[at] = _merge_object(merged[at], element, path)
    return merged


def _clean(value: Json) -> Json:
    """New content without nulls and directives."""
    if isinstance(value, dict):
        stripped = strip_nulls(value)
        return {key: _clean(member) for key, member in stripped.items() if not key.startswith("$")}
    if isinstance(value, list):
        return [_clean(member) for member in value]
    return value


def _ordered(elements: list[Json], order: list[Json], path: tuple[str, ...]) -> list[Json]:
    """Elements named in the order come in that order; the others keep their places after them."""
    keys = merge_keys(path, elements)[:1]

    def identity(element: Json) -> Json:
        return element.get(keys[0]) if keys and isinstance(element, dict) else element

    ranks = [identity(wanted) for wanted in order]
    return sorted(
        elements, key=lambda e: ranks.index(identity(e)) if identity(e) in ranks else len(ranks)
    )
