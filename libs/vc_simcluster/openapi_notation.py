"""A short way to write down fields, and its translation into OpenAPI schemas.

The built-in kinds have hundreds of fields; we describe the main ones for `kubectl explain` and
leave the rest open. `"string: The node."` is a field with its description, a dict is an object
whose own description stands under the empty key, and a list of one element is an array.
"""

from typing import Final, TypeAlias

from vc_model.struct import JsonObject

Notation: TypeAlias = "str | dict[str, Notation] | list[Notation]"

_SCALARS: Final[dict[str, JsonObject]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer", "format": "int32"},
    "long": {"type": "integer", "format": "int64"},
    "boolean": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "intOrString": {"x-kubernetes-int-or-string": True},
    "object": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "quantities": {
        "type": "object",
        "additionalProperties": {"x-kubernetes-int-or-string": True},
    },
}


def schema_of(notation: Notation) -> JsonObject:
    """The OpenAPI schema; objects stay open, because we name only the main fields."""
    if isinstance(notation, list):
        items = schema_of(notation[0])
        return {"type": "array", "description": items.pop("description", ""), "items": items}
    if isinstance(notation, dict):
        return _object(notation)
    word, _, description = notation.partition(": ")
    repeated = word.endswith("[]")
    schema = dict(_SCALARS[word.removesuffix("[]")])
    if repeated:
        schema = {"type": "array", "items": schema}
    return {"description": description, **schema}


def _object(notation: "dict[str, Notation]") -> JsonObject:
    fields = {name: schema_of(below) for name, below in notation.items() if name}
    return {
        "type": "object",
        "description": str(notation.get("", "")),
        "properties": fields,
        "x-kubernetes-preserve-unknown-fields": True,
    }
