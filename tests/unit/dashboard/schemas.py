"""Whether a JSON value is what an OpenAPI document says: as much of JSON Schema as ours uses, and no more.

A keyword that is not known here is a failure, so that nothing goes unchecked unnoticed. Fields that are not
described are failures too: the document is to name all that we say.
"""

from collections.abc import Iterator
from typing import Any, Final

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_SAYS_NOTHING: Final = {"title", "description", "default"}
_KNOWN: Final = {
    "$ref", "type", "anyOf", "enum", "items", "properties", "required", "additionalProperties",
}  # fmt: skip


def faults(document: Any, schema: Any, value: Any, at: str = "$") -> Iterator[str]:
    """What is wrong with a value, each with where it is."""
    unknown = set(schema) - _KNOWN - _SAYS_NOTHING
    if unknown:
        yield f"{at}: nobody here knows {sorted(unknown)}"
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        yield from faults(document, document["components"]["schemas"][name], value, at)
    if "anyOf" in schema:
        tried = [list(faults(document, one, value, at)) for one in schema["anyOf"]]
        if all(tried):
            yield min(tried, key=len)[0]
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if "type" in schema and not _is(value, schema["type"]):
        yield f"{at}: {value!r} is no {schema['type']}"
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from faults(document, schema.get("items", {}), item, f"{at}[{number}]")
    elif isinstance(value, dict) and schema.get("type") == "object":
        yield from _of_object(document, schema, value, at)


def _is(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _of_object(document: Any, schema: Any, value: Any, at: str) -> Iterator[str]:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", []):
        if name not in value:
            yield f"{at}: {name} is missing"
    for name, item in value.items():
        if name in properties:
            yield from faults(document, properties[name], item, f"{at}.{name}")
        elif isinstance(more, dict):
            yield from faults(document, more, item, f"{at}.{name}")
        elif properties or more is False:
            yield f"{at}: {name} is not described"
