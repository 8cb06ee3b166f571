"""Validation of custom resources, one table per keyword of the schema.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
"""

import msgspec
import pytest

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.schema.validation import validate


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The schema of `spec.x`, a value, and the faults of the value. None means that it is valid."""

    id: str
    schema: JsonObject
    value: Json
    faults: list[str] = []


def faults_of(case: Case) -> list[str]:
    spec = {"type": "object", "properties": {"x": case.schema}}
    schema: JsonObject = {"type": "object", "properties": {"spec": spec}}
    return [str(fault) for fault in validate(schema, {"spec": {"x": case.value}})]


def wrong_type(found: str, expected: str) -> list[str]:
    return [
        f'spec.x: Invalid value: "{found}": spec.x in body must be of type {expected}: "{found}"'
    ]


def type_case(expected: str, value: Json, found: str = "") -> Case:
    """A value for a type. Without `found` the value is valid."""
    what = f"{msgspec.json.encode(value).decode()} is {'no' if found else 'a valid'} {expected}"
    return Case(
        id=what,
        schema={"type": expected},
        value=value,
        faults=wrong_type(found, expected) if found else [],
    )


TYPES = [
    type_case("string", ""),
    type_case("string", "a"),
    type_case("string", 1, "integer"),
    type_case("string", 1.5, "number"),
    type_case("string", True, "boolean"),
    type_case("string", [], "array"),
    type_case("string", {}, "object"),
    type_case("integer", 0),
    type_case("integer", -7),
    type_case("integer", "1", "string"),
    type_case("integer", 1.5, "number"),
    type_case("integer", False, "boolean"),
    type_case("integer", [1], "array"),
    type_case("integer", {}, "object"),
    type_case("number", 1),
    type_case("number", 1.5),
    type_case("number", "1.5", "string"),
    type_case("number", True, "boolean"),
    type_case("number", [], "array"),
    type_case("boolean", True),
    type_case("boolean", False),
    type_case("boolean", "true", "string"),
    type_case("boolean", 1, "integer"),
    type_case("boolean", 0, "integer"),
    type_case("boolean", {}, "object"),
    type_case("array", []),
    type_case("array", [1, "a"]),
    type_case("array", {}, "object"),
    type_case("array", "a", "string"),
    type_case("array", 1, "integer"),
    type_case("object", {}),
    type_case("object", [], "array"),
    type_case("object", "a", "string"),
    type_case("object", 1, "integer"),
    type_case("object", True, "boolean"),
    Case(
        id="null is no value of a type that is not nullable",
        schema={"type": "string"}, value=None, faults=wrong_type("null", "string"),
    ),
    Case(
        id="null is a value of a nullable type",
        schema={"type": "string", "nullable": True}, value=None,
    ),
    Case(
        id="a nullable type still has its type",
        schema={"type": "string", "nullable": True}, value=1,
        faults=wrong_type("integer", "string"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", TYPES, ids=lambda case: case.id)
def test_types(case: Case) -> None:
    assert faults_of(case) == case.faults


PORT: JsonObject = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
}

INT_OR_STRING = [
    Case(id="an integer", schema=PORT, value=80),
    Case(id="a string", schema=PORT, value="http"),
    Case(id="a percentage", schema=PORT, value="25%"),
    Case(id="an empty string", schema=PORT, value=""),
    Case(id="a boolean is neither", schema=PORT, value=True, faults=wrong_type("boolean", "integer,string")),
    Case(id="a fraction is neither", schema=PORT, value=0.5, faults=wrong_type("number", "integer,string")),
    Case(id="a list is neither", schema=PORT, value=[1], faults=wrong_type("array", "integer,string")),
    Case(id="an object is neither", schema=PORT, value={}, faults=wrong_type("object", "integer,string")),
    Case(id="without anyOf it is the same", schema={"x-kubernetes-int-or-string": True}, value="a"),
    Case(
        id="a pattern applies to the string",
        schema={**PORT, "pattern": "^[a-z]+$"}, value="A",
        faults=["spec.x: Invalid value: \"A\": spec.x in body should match '^[a-z]+$'"],
    ),
    Case(id="a pattern does not apply to the integer", schema={**PORT, "pattern": "^[a-z]+$"}, value=5),
    Case(
        id="a maximum applies to the integer",
        schema={**PORT, "maximum": 4}, value=5,
        faults=["spec.x: Invalid value: 5: spec.x in body should be less than or equal to 4"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", INT_OR_STRING, ids=lambda case: case.id)
def test_int_or_string(case: Case) -> None:
    assert faults_of(case) == case.faults


def number_fault(value: Json, what: str) -> list[str]:
    return [f"spec.x: Invalid value: {value}: spec.x in body should be {what}"]


NUMBERS = [
    Case(id="equal to the minimum", schema={"type": "integer", "minimum": 1}, value=1),
    Case(id="below the minimum", schema={"type": "integer", "minimum": 1}, value=0, faults=number_fault(0, "greater than or equal to 1")),
    Case(id="equal to the maximum", schema={"type": "integer", "maximum": 1}, value=1),
    Case(id="above the maximum", schema={"type": "integer", "maximum": 1}, value=2, faults=number_fault(2, "less than or equal to 1")),
    Case(
        id="equal to an exclusive minimum",
        schema={"type": "integer", "minimum": 1, "exclusiveMinimum": True}, value=1,
        faults=number_fault(1, "greater than 1"),
    ),
    Case(
        id="above an exclusive minimum",
        schema={"type": "number", "minimum": 1, "exclusiveMinimum": True}, value=1.001,
    ),
    Case(
        id="equal to an exclusive maximum",
        schema={"type": "integer", "maximum": 1, "exclusiveMaximum": True}, value=1,
        faults=number_fault(1, "less than 1"),
    ),
    Case(id="a minimum of zero is a minimum", schema={"type": "integer", "minimum": 0}, value=-1, faults=number_fault(-1, "greater than or equal to 0")),
    Case(id="a maximum of zero is a maximum", schema={"type": "integer", "maximum": 0}, value=1, faults=number_fault(1, "less than or equal to 0")),
    Case(id="a fraction below the minimum", schema={"type": "number", "minimum": 0.5}, value=0.4, faults=number_fault(0.4, "greater than or equal to 0.5")),
    Case(id="the largest int32", schema={"type": "integer", "format": "int32"}, value=2**31 - 1),
    Case(id="the smallest int32", schema={"type": "integer", "format": "int32"}, value=-(2**31)),
    Case(
        id="one more than the largest int32",
        schema={"type": "integer", "format": "int32"}, value=2**31,
        faults=['spec.x: Invalid value: 2147483648: spec.x in body must be of type int32: "2147483648"'],
    ),
    Case(id="the largest int64", schema={"type": "integer", "format": "int64"}, value=2**63 - 1),
    Case(
        id="one more than the largest int64",
        schema={"type": "integer", "format": "int64"}, value=2**63,
        faults=[f'spec.x: Invalid value: {2**63}: spec.x in body must be of type int64: "{2**63}"'],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", NUMBERS, ids=lambda case: case.id)
def test_bounds_of_numbers(case: Case) -> None:
    assert faults_of(case) == case.faults


def text_fault(value: str, what: str) -> list[str]:
    return [f'spec.x: Invalid value: "{value}": spec.x in body {what}']


TEXTS = [
    Case(id="as long as the maximum", schema={"type": "string", "maxLength": 3}, value="abc"),
    Case(id="longer than the maximum", schema={"type": "string", "maxLength": 3}, value="abcd", faults=["spec.x: Too long: may not be more than 3 bytes"]),
    Case(id="characters are counted and not bytes", schema={"type": "string", "maxLength": 3}, value="äöü"),
    Case(id="a maximum of zero allows the empty text", schema={"type": "string", "maxLength": 0}, value=""),
    Case(id="as long as the minimum", schema={"type": "string", "minLength": 2}, value="ab"),
    Case(id="shorter than the minimum", schema={"type": "string", "minLength": 2}, value="a", faults=text_fault("a", "should be at least 2 chars long")),
    Case(id="a pattern without anchors matches a part", schema={"type": "string", "pattern": "[0-9]"}, value="a1b"),
    Case(id="a pattern without a match", schema={"type": "string", "pattern": "[0-9]"}, value="ab", faults=text_fault("ab", "should match '[0-9]'")),
    Case(id="a pattern anchored at the start", schema={"type": "string", "pattern": "^a"}, value="ba", faults=text_fault("ba", "should match '^a'")),
    Case(id="a pattern anchored at the end", schema={"type": "string", "pattern": "a$"}, value="ab", faults=text_fault("ab", "should match 'a$'")),
    Case(id="an escaped dollar is no anchor", schema={"type": "string", "pattern": r"^a\$"}, value="a$b"),
    Case(id="a date and time", schema={"type": "string", "format": "date-time"}, value="2026-11-18T12:00:00Z"),
    Case(id="a date and time with fractions", schema={"type": "string", "format": "date-time"}, value="2026-11-18T12:00:00.123456Z"),
    Case(
        id="no date and time", schema={"type": "string", "format": "date-time"}, value="noon",
        faults=text_fault("noon", 'must be of type date-time: "noon"'),
    ),
    Case(id="an unknown format is ignored", schema={"type": "string", "format": "colour"}, value="x"),
    Case(id="one of the enum", schema={"type": "string", "enum": ["a", "b"]}, value="b"),
    Case(
        id="none of the enum", schema={"type": "string", "enum": ["a", "b"]}, value="c",
        faults=['spec.x: Unsupported value: "c": supported values: "a", "b"'],
    ),
    Case(
        id="an enum distinguishes upper case", schema={"type": "string", "enum": ["a"]}, value="A",
        faults=['spec.x: Unsupported value: "A": supported values: "a"'],
    ),
    Case(
        id="an enum of integers", schema={"type": "integer", "enum": [1, 2]}, value=3,
        faults=["spec.x: Unsupported value: 3: supported values: 1, 2"],
    ),
    Case(id="null of a nullable type need not be in the enum", schema={"type": "string", "enum": ["a"], "nullable": True}, value=None),
    Case(
        id="all violated rules of one text are named",
        schema={"type": "string", "minLength": 3, "pattern": "^[a-z]+$", "enum": ["abc"]}, value="A",
        faults=[
            'spec.x: Unsupported value: "A": supported values: "abc"',
            *text_fault("A", "should be at least 3 chars long"),
            *text_fault("A", "should match '^[a-z]+$'"),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case.id)
def test_rules_of_texts(case: Case) -> None:
    assert faults_of(case) == case.faults


def set_of(kind: str) -> JsonObject:
    return {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": kind}}


def map_by(*keys: str) -> JsonObject:
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "port": {"type": "integer"},
                "value": {"type": "string"},
            },
        },
    }


LONG = "x" * 300
SHOWN_LONG = '"' + "x" * 199 + "…"

LISTS = [
    Case(id="as many items as the minimum", schema={"type": "array", "minItems": 1}, value=[1]),
    Case(
        id="fewer items than the minimum", schema={"type": "array", "minItems": 2}, value=[1],
        faults=["spec.x: Invalid value: 1: spec.x in body should have at least 2 items"],
    ),
    Case(id="as many items as the maximum", schema={"type": "array", "maxItems": 1}, value=[1]),
    Case(
        id="more items than the maximum", schema={"type": "array", "maxItems": 1}, value=[1, 2],
        faults=["spec.x: Too many: 2: must have at most 1 items"],
    ),
    Case(
        id="each item has the type of the items",
        schema={"type": "array", "items": {"type": "integer"}}, value=[1, "b", 3, "d"],
        faults=[
            f'spec.x[{at}]: Invalid value: "string": spec.x[{at}] in body must be of type integer: "string"'
            for at in (1, 3)
        ],
    ),
    Case(id="a set of different texts", schema=set_of("string"), value=["a", "b"]),
    Case(
        id="a set with a text twice", schema=set_of("string"), value=["a", "b", "a"],
        faults=['spec.x[2]: Duplicate value: "a"'],
    ),
    Case(
        id="a set with a text three times", schema=set_of("string"), value=["a", "a", "a"],
        faults=['spec.x[1]: Duplicate value: "a"', 'spec.x[2]: Duplicate value: "a"'],
    ),
    Case(id="a set with an integer twice", schema=set_of("integer"), value=[1, 1], faults=["spec.x[1]: Duplicate value: 1"]),
    Case(id="a set distinguishes upper case", schema=set_of("string"), value=["a", "A"]),
    Case(id="a set of long texts that differ at their end", schema=set_of("string"), value=[LONG + "a", LONG + "b"]),
    Case(
        id="a set with a long text twice", schema=set_of("string"), value=[LONG, LONG],
        faults=[f"spec.x[1]: Duplicate value: {SHOWN_LONG}"],
    ),
    Case(
        id="a set of objects with the same members in another order",
        schema={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        value=[{"a": 1, "b": 2}, {"b": 2, "a": 1}],
        faults=['spec.x[1]: Duplicate value: {"b":2,"a":1}'],
    ),
    Case(id="an atomic list may repeat", schema={"type": "array", "x-kubernetes-list-type": "atomic"}, value=["a", "a"]),
    Case(id="a list without a type may repeat", schema={"type": "array"}, value=["a", "a"]),
    Case(id="a map with different keys", schema=map_by("name"), value=[{"name": "a"}, {"name": "b"}]),
    Case(
        id="a map with a key twice", schema=map_by("name"),
        value=[{"name": "a", "value": "1"}, {"name": "a", "value": "2"}],
        faults=['spec.x[1]: Duplicate value: {"name":"a"}'],
    ),
    Case(
        id="a map with long keys that differ at their end", schema=map_by("name"),
        value=[{"name": LONG + "a"}, {"name": LONG + "b"}],
    ),
    Case(
        id="a map by two keys may repeat one of them", schema=map_by("name", "port"),
        value=[{"name": "a", "port": 1}, {"name": "a", "port": 2}, {"name": "b", "port": 1}],
    ),
    Case(
        id="a map by two keys may not repeat both", schema=map_by("name", "port"),
        value=[{"name": "a", "port": 1}, {"port": 1, "name": "a"}],
        faults=['spec.x[1]: Duplicate value: {"name":"a","port":1}'],
    ),
    Case(
        id="a map by two long keys that differ in the second", schema=map_by("name", "value"),
        value=[{"name": LONG, "value": "a"}, {"name": LONG, "value": "b"}],
    ),
    Case(
        id="an absent key is a key", schema=map_by("name"),
        value=[{"value": "1"}, {"value": "2"}],
        faults=['spec.x[1]: Duplicate value: {"name":null}'],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", LISTS, ids=lambda case: case.id)
def test_rules_of_lists(case: Case) -> None:
    assert faults_of(case) == case.faults


def of(**properties: Json) -> JsonObject:
    return {"type": "object", "properties": properties}


OBJECTS = [
    Case(id="a required member that is there", schema={**of(a={"type": "string"}), "required": ["a"]}, value={"a": ""}),
    Case(
        id="a required member that is absent", schema={**of(a={"type": "string"}), "required": ["a"]}, value={},
        faults=["spec.x.a: Required value"],
    ),
    Case(
        id="each required member that is absent is named",
        schema={**of(a={"type": "string"}, b={"type": "string"}), "required": ["a", "b"]}, value={},
        faults=["spec.x.a: Required value", "spec.x.b: Required value"],
    ),
    Case(
        id="a member of the wrong type is named with its path",
        schema=of(a=of(b={"type": "integer"})), value={"a": {"b": "c"}},
        faults=['spec.x.a.b: Invalid value: "string": spec.x.a.b in body must be of type integer: "string"'],
    ),
    Case(id="entries of a map", schema={"type": "object", "additionalProperties": {"type": "integer"}}, value={"a": 1, "b": 2}),
    Case(
        id="an entry of a map with the wrong type",
        schema={"type": "object", "additionalProperties": {"type": "integer"}}, value={"a": 1, "b": "2"},
        faults=['spec.x.b: Invalid value: "string": spec.x.b in body must be of type integer: "string"'],
    ),
    Case(id="a preserved object takes anything", schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True}, value={"a": [1, {"b": None}]}),
    Case(
        id="declared members of a preserved object keep their type",
        schema={**of(a={"type": "integer"}), "x-kubernetes-preserve-unknown-fields": True}, value={"a": "1", "b": "2"},
        faults=['spec.x.a: Invalid value: "string": spec.x.a in body must be of type integer: "string"'],
    ),
    Case(
        id="allOf requires each part",
        schema={"type": "integer", "allOf": [{"minimum": 2}, {"maximum": 4}]}, value=5,
        faults=number_fault(5, "less than or equal to 4"),
    ),
    Case(id="anyOf requires one part", schema={"type": "integer", "anyOf": [{"minimum": 9}, {"maximum": 1}]}, value=0),
    Case(
        id="anyOf refuses what no part takes",
        schema={"type": "integer", "anyOf": [{"minimum": 9}, {"maximum": 1}]}, value=5,
        faults=["spec.x: Invalid value: 5: spec.x in body must validate at least one schema (anyOf)"],
    ),
    Case(
        id="oneOf refuses what two parts take",
        schema={"type": "integer", "oneOf": [{"minimum": 1}, {"maximum": 9}]}, value=5,
        faults=["spec.x: Invalid value: 5: spec.x in body must validate one and only one schema (oneOf)"],
    ),
    Case(id="oneOf takes what one part takes", schema={"type": "integer", "oneOf": [{"minimum": 1}, {"maximum": 9}]}, value=10),
    Case(id="not refuses the opposite only", schema={"type": "integer", "not": {"minimum": 5}}, value=4),
    Case(
        id="not refuses what its schema takes",
        schema={"type": "integer", "not": {"minimum": 5}}, value=5,
        faults=["spec.x: Invalid value: 5: spec.x in body must not validate the schema (not)"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", OBJECTS, ids=lambda case: case.id)
def test_rules_of_objects(case: Case) -> None:
    assert faults_of(case) == case.faults
