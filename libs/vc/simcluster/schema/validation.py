"""Structural schemas, second part: validation with the messages of Kubernetes."""

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import msgspec

from vc.model.api.struct import Json, JsonObject
from vc.model.values.times import parse_time
from vc.simcluster.schema.structural import (
    ALWAYS_KEPT,
    EMBEDDED,
    INT_OR_STRING,
    LIST_KEYS,
    LIST_TYPE,
)
from vc.simcluster.store.failures import (
    FieldFault,
    invalid_value,
    required,
    shown,
    unsupported_value,
)

FAULTS_MAX: Final = 20
"""Most faults in one response. Further faults are not reported."""
_PATTERNS_MAX: Final = 512
_INT_RANGE: Final = {"int32": 2**31, "int64": 2**63}

Check = Callable[[JsonObject, Json, str], Iterator[FieldFault]]


def validate(schema: JsonObject, obj: JsonObject) -> list[FieldFault]:
    """The faults of a whole object, in schema order."""
    found: list[FieldFault] = []
    for fault in _object(schema, obj, "", skip=ALWAYS_KEPT):
        found.append(fault)
        # Faults are generated lazily: after the bound the rest of the object is not examined.
        if len(found) >= FAULTS_MAX:
            break
    return found


def _value(schema: JsonObject, value: Json, path: str) -> Iterator[FieldFault]:
    """The faults of one value. The type is checked first, because the other rules depend on it."""
    if value is None and schema.get("nullable"):
        return
    if not _type_fits(schema, value):
        kind = _type_name(value)
        expected = "integer,string" if schema.get(INT_OR_STRING) else schema.get("type", "object")
        yield invalid_value(path, kind, f'{path} in body must be of type {expected}: "{kind}"')
        return
    if "enum" in schema and value not in schema["enum"]:
        yield unsupported_value(path, value, schema["enum"])
    if isinstance(value, dict):
        skip = ALWAYS_KEPT if schema.get(EMBEDDED) else frozenset()
        yield from _object(schema, value, path, skip=skip)
    elif isinstance(value, list):
        yield from _array(schema, value, path)
    elif isinstance(value, str):
        yield from _string(schema, value, path)
    elif not isinstance(value, bool):
        yield from _number(schema, value, path)
    yield from _combined(schema, value, path)


def _type_name(value: Json) -> str:
    names: list[tuple[type, str]] = [
        (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"),
        (list, "array"), (dict, "object"),
    ]  # fmt: skip
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def _type_fits(schema: JsonObject, value: Json) -> bool:
    actual = _type_name(value)
    if schema.get(INT_OR_STRING):
        return actual in ("integer", "string")
    expected = schema.get("type")
    if not expected or expected == actual:
        return True
    # JSON does not separate 1 from 1.0: an integer is a number, and a whole number is an integer.
    if expected == "number":
        return actual == "integer"
    return expected == "integer" and isinstance(value, float) and value.is_integer()


def _object(
    schema: JsonObject, obj: JsonObject, path: str, *, skip: frozenset[str] = frozenset()
) -> Iterator[FieldFault]:
    for name in schema.get("required") or ():
        if name not in obj and name not in skip:
            yield required(_join(path, name))
    count = len(obj)
    if count < schema.get("minProperties", 0):
        low = schema["minProperties"]
        yield invalid_value(path, count, f"{path} in body should have at least {low} properties")
    if count > schema.get("maxProperties", math.inf):
        high = schema["maxProperties"]
        yield FieldFault(
            field=path, message=f"Too many: {count}: must have at most {high} items",
            reason="FieldValueTooMany",
        )  # fmt: skip
    properties: JsonObject = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for name, value in obj.items():
        member = properties.get(name, extra if isinstance(extra, dict) else None)
        if member is not None and name not in skip:
            # The messages name map entries in the same notation as declared properties.
            where = _join(path, name) if name in properties else f"{path}.{name}".lstrip(".")
            yield from _value(member, value, where)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _array(schema: JsonObject, value: list[Json], path: str) -> Iterator[FieldFault]:
    if len(value) < schema.get("minItems", 0):
        low = schema["minItems"]
        yield invalid_value(path, len(value), f"{path} in body should have at least {low} items")
    if len(value) > schema.get("maxItems", math.inf):
        high = schema["maxItems"]
        yield FieldFault(
            field=path, message=f"Too many: {len(value)}: must have at most {high} items",
            reason="FieldValueTooMany",
        )  # fmt: skip
    items = schema.get("items")
    for index, element in enumerate(value):
        if isinstance(items, dict):
            yield from _value(items, element, f"{path}[{index}]")
    yield from _duplicates(schema, value, path)


def _duplicates(schema: JsonObject, value: list[Json], path: str) -> Iterator[FieldFault]:
    """The duplicates in lists that are sets or maps."""
    kind = schema.get(LIST_TYPE)
    if kind not in ("set", "map"):
        return
    names = schema.get(LIST_KEYS) or []
    seen: set[bytes] = set()
    for index, element in enumerate(value):
        key = element
        if kind == "map":
            key = {n: element.get(n) for n in names} if isinstance(element, dict) else None
        # The whole value is compared, because the text of a message is cut. Sorted, because the
        # order of members does not distinguish two objects.
        whole = msgspec.json.encode(key, order="sorted")
        if whole in seen:
            yield FieldFault(
                field=f"{path}[{index}]", message=f"Duplicate value: {shown(key)}",
                reason="FieldValueDuplicate",
            )  # fmt: skip
        seen.add(whole)


def _string(schema: JsonObject, value: str, path: str) -> Iterator[FieldFault]:
    if len(value) > schema.get("maxLength", math.inf):
        high = schema["maxLength"]
        yield FieldFault(
            field=path, message=f"Too long: may not be more than {high} bytes",
            reason="FieldValueTooLong",
        )  # fmt: skip
    if len(value) < schema.get("minLength", 0):
        low = schema["minLength"]
        yield invalid_value(path, value, f"{path} in body should be at least {low} chars long")
    pattern = schema.get("pattern")
    # Patterns of JSON Schema are not anchored, hence `search`.
    if pattern and not _compiled(pattern).search(value):
        yield invalid_value(path, value, f"{path} in body should match '{pattern}'")
    if schema.get("format") == "date-time" and not _is_time(value):
        yield invalid_value(
            path, value, f"{path} in body must be of type date-time: {shown(value)}"
        )


@lru_cache(maxsize=_PATTERNS_MAX)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern.

    In Go, `$` is the end of the text; in Python it also matches before a final newline.
    """
    return re.compile(pattern[:-1] + r"\Z" if re.search(r"(?<!\\)\$$", pattern) else pattern)


def _is_time(value: str) -> bool:
    try:
        return parse_time(value) is not None
    except ValueError:
        return False


def _number(schema: JsonObject, value: float, path: str) -> Iterator[FieldFault]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
        than = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield invalid_value(path, value, f"{path} in body should be {than} {low}")
    if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
        than = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield invalid_value(path, value, f"{path} in body should be {than} {high}")
    span = _INT_RANGE.get(schema.get("format", ""))
    if span is not None and not -span <= value < span:
        form = schema["format"]
        yield invalid_value(path, value, f'{path} in body must be of type {form}: "{value}"')


def _combined(schema: JsonObject, value: Json, path: str) -> Iterator[FieldFault]:
    """The faults by allOf, anyOf, oneOf and not.

    The anyOf and oneOf of an int-or-string only repeat its type, which is already checked.
    """
    for part in schema.get("allOf") or ():
        yield from _value(part, value, path)
    if not schema.get(INT_OR_STRING):
        fitting = [_fits(part, value, path) for part in schema.get("anyOf") or ()]
        if fitting and not any(fitting):
            yield invalid_value(
                path, value, f"{path} in body must validate at least one schema (anyOf)"
            )
        fitting = [_fits(part, value, path) for part in schema.get("oneOf") or ()]
        if fitting and sum(fitting) != 1:
            yield invalid_value(
                path, value, f"{path} in body must validate one and only one schema (oneOf)"
            )
    refused = schema.get("not")
    if refused is not None and _fits(refused, value, path):
        yield invalid_value(path, value, f"{path} in body must not validate the schema (not)")


def _fits(schema: JsonObject, value: Json, path: str) -> bool:
    # The first fault decides, so the rest of the value is not examined.
    return next(_value(schema, value, path), None) is None
