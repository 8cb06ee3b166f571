"""Structural schemas, first part: prune and default objects by their schema.

As in the API server's decoding of custom resources, unknown fields are pruned, nulls that the
schema does not allow are dropped, and defaults are set, in one walk and in place. `validation` then
checks the result.
"""

import copy
from typing import Final

from vc.model.api.struct import Json, JsonObject

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_KEYS: Final = "x-kubernetes-list-map-keys"

ALWAYS_KEPT: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Fields that are never pruned, in the object itself and in every embedded resource."""


def conform(schema: JsonObject, obj: JsonObject) -> None:
    """Prune and default a whole custom resource in place. Its metadata is not changed."""
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
            # The pruning that a structural schema requires, unless it preserves unknown fields.
            if not schema.get(PRESERVE):
                del obj[name]
        # A null means "unset" unless the schema allows it as a value.
        elif obj[name] is None and not member.get("nullable"):
            del obj[name]
    # Defaults come after pruning: a dropped null is replaced by its default, as in Kubernetes.
    for name, member in properties.items():
        if name not in obj and "default" in member and name not in keep:
            # A copy, because later steps change the object, and all objects share the schema.
            obj[name] = copy.deepcopy(member["default"])
    # After the defaults, because a default object may have members with defaults of their own.
    for name, value in obj.items():
        if name not in keep and isinstance(value, dict | list):
            member = _member_schema(schema, properties, name)
            if member is not None:
                _conform(member, value)


def _member_schema(schema: JsonObject, properties: JsonObject, name: str) -> JsonObject | None:
    """The schema of a member. An empty schema accepts anything; None means unknown."""
    member = properties.get(name)
    if isinstance(member, dict):
        return member
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        return extra
    # `additionalProperties: true` allows any entry, so nothing below it may be pruned.
    return {PRESERVE: True} if extra is True else None
