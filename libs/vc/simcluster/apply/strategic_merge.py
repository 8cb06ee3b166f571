"""Strategic merge patch: a merge patch that merges certain lists by key.

The directives `$patch: delete` and `$patch: replace`, `$deleteFromPrimitiveList/x`, `$retainKeys`
and `$setElementOrder/x` are supported, because kubectl sends them. As in Kubernetes, ports are
identified by `containerPort` (or `port`) alone here.
"""

from typing import Final

from vc.model.api.graft import strip_nulls
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.apply.merge_keys import is_set, merge_keys
from vc.simcluster.store.failures import bad_request

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE_PRIMITIVES: Final = "$deleteFromPrimitiveList/"


def strategic_merge(obj: JsonObject, patch: JsonObject) -> JsonObject:
    """Return the object after the patch."""
    return _merge_object(obj, patch, ())


def _merge_object(obj: JsonObject, patch: JsonObject, path: tuple[str, ...]) -> JsonObject:
    directive = patch.get(_PATCH)
    if directive == "replace":
        replaced: JsonObject = _clean(patch)
        return replaced
    if directive == "delete":
        return {}
    merged = dict(obj)
    # kubectl sends this for unions such as volumes: a new member must replace the old one.
    if _RETAIN in patch:
        merged = {key: value for key, value in merged.items() if key in patch[_RETAIN]}
    for key, value in patch.items():
        if key in (_PATCH, _RETAIN) or key.startswith(_ORDER):
            continue
        # A merge can only add to such a list, so kubectl names the values that were removed.
        if key.startswith(_DELETE_PRIMITIVES):
            name = key.removeprefix(_DELETE_PRIMITIVES)
            merged[name] = [kept for kept in merged.get(name) or [] if kept not in value]
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_value(merged.get(key), value, (*path, key))
    # The order is applied last: it refers to the list after all merges and deletions.
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
    # Strategic merge uses one key only, even where server-side apply uses two.
    keys = merge_keys(path, [*old, *new])[:1]
    if is_set(path):
        return old + [value for value in new if value not in old]
    # The directive is an element of its own and concerns the whole list.
    replaced = any(isinstance(e, dict) and e.get(_PATCH) == "replace" for e in new)
    if not keys or replaced:
        return [_clean(e) for e in new if not (isinstance(e, dict) and e.get(_PATCH) == "replace")]
    return _merge_by_key(old, new, key=keys[0], path=path)


def _merge_by_key(
    old: list[Json], new: list[Json], *, key: str, path: tuple[str, ...]
) -> list[Json]:
    merged = list(old)
    for element in new:
        # Without its key an element matches none, and appending it would duplicate an entry.
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
        # New content has nothing to delete, so nulls and directives have no effect in it.
        stripped = strip_nulls(value)
        return {key: _clean(member) for key, member in stripped.items() if not key.startswith("$")}
    if isinstance(value, list):
        return [_clean(member) for member in value]
    return value


def _ordered(elements: list[Json], order: list[Json], path: tuple[str, ...]) -> list[Json]:
    """Sort elements by the given order. Other elements follow in their old order."""
    keys = merge_keys(path, elements)[:1]

    def identity(element: Json) -> Json:
        return element.get(keys[0]) if keys and isinstance(element, dict) else element

    ranks = [identity(wanted) for wanted in order]
    # The sort is stable, which keeps the order of elements that the patch does not name.
    return sorted(
        elements, key=lambda e: ranks.index(identity(e)) if identity(e) in ranks else len(ranks)
    )
