"""A manifest with every field that a struct declares, made from the declaration itself."""

from typing import Any

import msgspec
from msgspec import inspect

from vc.model.api.struct import Json, JsonObject

UNKNOWN = "fieldOfALaterRelease"


def full_manifest(declared: type[msgspec.Struct]) -> JsonObject:
    """Every field set to something that is not its default, and an undeclared one in each object."""
    manifest: JsonObject = _sample(inspect.type_info(declared))
    return manifest


def without_unknown(value: Json) -> Json:
    """The same without undeclared fields."""
    if isinstance(value, dict):
        return {k: without_unknown(v) for k, v in value.items() if k != UNKNOWN}
    return [without_unknown(v) for v in value] if isinstance(value, list) else value


def _sample(info: inspect.Type) -> Any:
    match info:
        case inspect.StructType():
            fields = {field.encode_name: _field(field) for field in info.fields}
            return {**fields, UNKNOWN: {"deep": [1]}}
        case inspect.UnionType():
            return _sample(next(t for t in info.types if not isinstance(t, inspect.NoneType)))
        case inspect.DictType():
            return {"key": _sample(info.value_type)}
        case inspect.ListType():
            return [_sample(info.item_type)]
        case inspect.StrType():
            return "text"
        case inspect.BytesType():
            return "dGV4dA=="
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 7
        case inspect.FloatType():
            return 1.5
        case inspect.AnyType():
            return {"any": ["thing"]}
    raise AssertionError(f"no sample of {info}")


def _field(field: inspect.Field) -> Any:
    """A boolean that is true by default is set to false."""
    return False if field.default is True else _sample(field.type)
