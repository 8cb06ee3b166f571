"""Structural schemas, first half: an object is given the shape its schema says.

Unknown fields are pruned, nulls that no schema allows are dropped, and defaults are filled in, in
one walk and in place, as the API server does when it decodes a custom resource. What is wrong with
the result is `schema_validation`'s business.
"""

import copy
from typing import Final

from vc_model.struct import Json, JsonObject

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_KEYS: Final = "x-kubernetes-list-map-keys"

ALWAYS_KEPT: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Of the object itself and of every embedded resource."""


def conform(schema: JsonObject, obj: JsonObject) -> None:
    """Prune and default a whole custom resource, in place; its metadata is not the schema's."""
    _conform_object(schema, obj, keep=ALWAYS_KEPT)


def _conform(schema: JsonObject, value: Json) -> None:
    if isinstance(value, dict):
        keep = ALWAYS_KEPT if schema.get(EMBEDDED) else frozenset()
        _conform_object(schema, value, keep=keep)
    elif isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, dict):
            for element in value:
                _conform(items, element)


def _conform_object(schema: JsonObject, obj: JsonObject, *, keep: frozenset[str]) -> None:
    properties: JsonObject = schema.get("properties") or {}
    for name in list(obj):
        if name in keep:
            continue
        member = _member_schema(schema, properties, name)
        if member is None:
            if not schema.get(PRESERVE):
                del obj[name]
        elif obj[name] is None and not member.get("nullable"):
            del obj[name]
    for name, member in properties.items():
        if name not in obj and "default" in member and name not in keep:
            obj[name] = copy.deepcopy(member["default"])
    for name, value in obj.items():
        if name not in keep and isinstance(value, dict | list):
            member = _member_schema(schema, properties, name)
            if member is not None:
                _conform(member, value)


def _member_schema(schema: JsonObject, properties: JsonObject, name: str) -> JsonObject | None:
    """The schema of a member; an empty one takes anything; None means it is unknown."""
    member = properties.get(name)
    if isinstance(member, dict):
        return member
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        return extra
    return {PRESERVE: True} if extra is True else None
