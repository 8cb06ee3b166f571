"""A short notation for fields, and its translation to OpenAPI schemas.

The built-in kinds have hundreds of fields. The main ones are described for `kubectl explain`, and
the rest is left open. `"string: The node."` is a field with its description. A dict is an object;
its own description has the empty key. A list with one element is an array.
"""

from typing import Final, TypeAlias

from vc.model.api.struct import JsonObject

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
    """The OpenAPI schema.

    Objects allow unknown fields, because only the main ones are described.
    """
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
