"""Field paths: what server-side apply compares, merges and records.

The steps of a path are spelled as in `fieldsV1`: `f:spec`, `k:{"name":"main"}`, `v:"x"`. The schema
of a custom resource defines which lists are maps; for built-in kinds `merge_keys` does. An element
of such a list has a path of its own, in addition to the paths of its members, so that the element
itself can be owned.
"""

from typing import Final, TypeAlias

import msgspec

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.apply.merge_keys import is_set, merge_keys
from vc.simcluster.schema.structural import LIST_KEYS, LIST_TYPE
from vc.simcluster.store.resource import Resource

Path: TypeAlias = tuple[str, ...]
Values: TypeAlias = dict[Path, Json]

_NOT_OWNED: Final = frozenset({
    "name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation",
    "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName", "selfLink",
})  # fmt: skip
_ATOMIC_MAPS: Final = frozenset({"selector", "labelSelector", "nodeSelector"})
_SELF: Final = "."


class Walker:
    """Computes paths of objects of one resource, with its list and map types."""

    def __init__(self, resource: Resource) -> None:
        self._custom = resource.custom
        self._schema = resource.schema or {}

    def values(self, obj: JsonObject) -> Values:
        """Every path of an object that can have an owner, with its value."""
        found: Values = {}
        for name, value in obj.items():
            # The type of an object cannot change, so apiVersion and kind have no owner.
            if name in ("apiVersion", "kind"):
                continue
            member = _member(self._schema, name)
            if name == "metadata":
                # The server owns these fields of metadata; no manager can.
                value = {k: v for k, v in value.items() if k not in _NOT_OWNED}
                if not value:
                    continue
            self._collect(value, (f"f:{name}",), member, found)
        return found

    def _collect(self, value: Json, path: Path, schema: JsonObject, found: Values) -> None:
        # An empty object is a leaf, so that `{}` itself can be owned.
        if isinstance(value, dict) and value and not self._is_atomic(path, schema):
            for name, member in value.items():
                self._collect(member, (*path, f"f:{name}"), _member(schema, name), found)
        elif isinstance(value, list) and value:
            self._collect_list(value, path, schema, found)
        else:
            found[path] = value

    def _collect_list(
        self, value: list[Json], path: Path, schema: JsonObject, found: Values
    ) -> None:
        keys, as_set = self._list_kind(value, path, schema)
        if as_set:
            # An element of a set is its own key, so different managers can own different elements.
            found.update({(*path, "v:" + _text(element)): element for element in value})
        elif keys:
            items = schema.get("items") or {}
            for element in value:
                item = (*path, identity(element, keys))
                # The element itself is a path without a value: it may be owned without any of its
                # members.
                found[item] = None
                for name, member in element.items():
                    self._collect(member, (*item, f"f:{name}"), _member(items, name), found)
        else:
            # Elements of an atomic list have no identity to merge by, so the list has one owner.
            found[path] = value

    def _is_atomic(self, path: Path, schema: JsonObject) -> bool:
        if self._custom:
            return schema.get("x-kubernetes-map-type") == "atomic"
        return path[-1].removeprefix("f:") in _ATOMIC_MAPS and path[:2] != (
            "f:metadata",
            "f:labels",
        )

    def _list_kind(
        self, value: list[Json], path: Path, schema: JsonObject
    ) -> tuple[tuple[str, ...], bool]:
        """The keys of a list that is a map, and whether the list is a set."""
        # The schema of a CRD does not describe metadata, which is the same for all kinds.
        if self._custom and path[0] != "f:metadata":
            if schema.get(LIST_TYPE) == "map" and all(isinstance(e, dict) for e in value):
                return tuple(schema.get(LIST_KEYS) or ()), False
            return (), schema.get(LIST_TYPE) == "set"
        # Keys of elements are left out: the table knows a list by the field names on its path.
        names = tuple(step[2:] for step in path if step.startswith("f:"))
        return merge_keys(names, value), is_set(names)

    def merge(self, live: JsonObject, config: JsonObject) -> JsonObject:
        """Merge an applied configuration into the live object."""
        merged = dict(live)
        for name, value in config.items():
            old = live.get(name)
            merged[name] = self._merge(old, value, (f"f:{name}",), _member(self._schema, name))
        return merged

    def _merge(self, live: Json, config: Json, path: Path, schema: JsonObject) -> Json:
        if isinstance(live, dict) and isinstance(config, dict):
            if self._is_atomic(path, schema):
                # Replaced as a whole: a merge of two selectors would select something else.
                return config
            merged = dict(live)
            for name, value in config.items():
                where = (*path, f"f:{name}")
                merged[name] = self._merge(live.get(name), value, where, _member(schema, name))
            return merged
        if isinstance(live, list) and isinstance(config, list):
            return self._merge_list(live, config, path, schema)
        return config

    def _merge_list(
        self, live: list[Json], config: list[Json], path: Path, schema: JsonObject
    ) -> list[Json]:
        keys, as_set = self._list_kind(live + config, path, schema)
        if as_set:
            # Live elements stay, because other managers may own them.
            return live + [element for element in config if element not in live]
        if not keys:
            return config
        # Live elements keep their position: other managers may rely on the order.
        merged = list(live)
        places = {identity(element, keys): index for index, element in enumerate(live)}
        items = schema.get("items") or {}
        for element in config:
            name = identity(element, keys)
            if name in places:
                at = places[name]
                merged[at] = self._merge(merged[at], element, (*path, name), items)
            else:
                merged.append(element)
        return merged


def _member(schema: JsonObject, name: str) -> JsonObject:
    # The names of a map's entries are not in the schema, which describes all of them at once.
    member = (schema.get("properties") or {}).get(name) or schema.get("additionalProperties")
    return member if isinstance(member, dict) else {}


def _text(value: Json) -> str:
    # Sorted, because the text is a key and must not depend on the order of the members.
    return msgspec.json.encode(value, order="sorted").decode()


def identity(element: JsonObject, keys: tuple[str, ...]) -> str:
    """The step that identifies an element of a list that is a map."""
    # The key of a port includes its protocol, which defaults to TCP when it is absent.
    defaults = {"protocol": "TCP"}
    named = {key: element.get(key, defaults.get(key)) for key in keys}
    return "k:" + _text({key: value for key, value in named.items() if value is not None})


def remove_path(obj: Json, path: Path) -> None:
    """Remove the value at a path, and every object that becomes empty by that."""
    step, rest = path[0], path[1:]
    if step.startswith("f:") and isinstance(obj, dict):
        name = step[2:]
        if not rest:
            obj.pop(name, None)
        elif name in obj:
            remove_path(obj[name], rest)
            # An empty parent would remain as a field that no manager owns.
            if obj[name] in ({}, []):
                del obj[name]
    elif isinstance(obj, list):
        at = next((i for i, element in enumerate(obj) if _is_named(element, step)), None)
        if at is not None and not rest:
            del obj[at]
        elif at is not None:
            remove_path(obj[at], rest)


def _is_named(element: Json, step: str) -> bool:
    wanted = msgspec.json.decode(step[2:])
    if step.startswith("v:") or not isinstance(element, dict):
        return bool(element == wanted)
    return all(
        element.get(k) == v or (k == "protocol" and k not in element) for k, v in wanted.items()
    )


def to_fields_v1(paths: set[Path]) -> JsonObject:
    """Convert paths to the nested objects of `managedFields`, in a stable order."""
    tree: JsonObject = {}
    for path in sorted(paths):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        # The mark says that the element itself is owned; without it only its members would be.
        if path[-1].startswith("k:"):
            node[_SELF] = {}
    return tree


def from_fields_v1(tree: Json) -> set[Path]:
    """Convert the nested objects of `managedFields` to paths. Unreadable parts own nothing."""
    found: set[Path] = set()
    pending: list[tuple[Path, Json]] = [((), tree)]
    while pending:
        path, node = pending.pop()
        if not isinstance(node, dict):
            continue
        # A leaf, or an element that is owned in addition to its members.
        if path and (not node or _SELF in node):
            found.add(path)
        pending += [((*path, step), child) for step, child in node.items() if step != _SELF]
    return found


def readable(path: Path) -> str:
    """A path as messages show it: `.spec.replicas`, `.spec.containers[name="main"].image`."""
    text = ""
    for step in path:
        if step.startswith("f:"):
            text += "." + step[2:]
        elif step.startswith("k:"):
            keys = msgspec.json.decode(step[2:])
            text += "[" + ",".join(f"{k}={_text(v)}" for k, v in keys.items()) + "]"
        else:
            text += "[" + step[2:] + "]"
    return text
