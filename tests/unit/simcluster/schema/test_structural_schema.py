"""Structural schemas: pruning, defaults, and faults in Kubernetes' words."""

import copy

import msgspec
import pytest

from tests.unit.simcluster.stage import WIDGET_SCHEMA
from vc.model.api.struct import JsonObject
from vc.simcluster.schema.structural import conform
from vc.simcluster.schema.validation import FAULTS_MAX, validate


class Shaped(msgspec.Struct, frozen=True):
    """A spec before and after it was given the schema's shape."""

    id: str
    spec: JsonObject
    expected: JsonObject


SHAPED = [
    Shaped("a default fills a gap", {"size": 1}, {"size": 1, "colour": "red"}),
    Shaped("a given value stays", {"colour": "blue"}, {"colour": "blue"}),
    Shaped("an unknown field is pruned", {"colour": "blue", "x": 1}, {"colour": "blue"}),
    Shaped("null that is not allowed counts as absent", {"colour": None}, {"colour": "red"}),
    Shaped(
        "null that is allowed stays",
        {"note": None, "colour": "red"},
        {"note": None, "colour": "red"},
    ),
    Shaped(
        "free fields keep what they hold",
        {"colour": "red", "free": {"any": {"thing": [1]}}},
        {"colour": "red", "free": {"any": {"thing": [1]}}},
    ),
    Shaped(
        "an embedded resource keeps its identity and loses what is unknown",
        {
            "colour": "red",
            "template": {"kind": "Pod", "metadata": {"name": "n"}, "y": 1, "spec": {"z": 1}},
        },
        {"colour": "red", "template": {"kind": "Pod", "metadata": {"name": "n"}, "spec": {}}},
    ),
    Shaped(
        "defaults reach into lists",
        {"colour": "red", "parts": [{"name": "a", "z": 1}, {"name": "b", "count": 2}]},
        {"colour": "red", "parts": [{"name": "a", "count": 1}, {"name": "b", "count": 2}]},
    ),
    Shaped(
        "maps of anything keep their keys",
        {"colour": "red", "amounts": {"x": 1}},
        {"colour": "red", "amounts": {"x": 1}},
    ),
]


@pytest.mark.parametrize("case", SHAPED, ids=lambda case: case.id)
def test_an_object_gets_its_shape(case: Shaped) -> None:
    obj = {"metadata": {"anything": 1}, "extra": 1, "spec": copy.deepcopy(case.spec)}
    conform(WIDGET_SCHEMA, obj)
    assert obj == {"metadata": {"anything": 1}, "spec": case.expected}


def test_a_default_is_a_copy_each_time() -> None:
    schema = {"properties": {"list": {"type": "array", "default": []}}}
    one: JsonObject = {}
    two: JsonObject = {}
    conform(schema, one)
    one["list"].append(1)
    conform(schema, two)
    assert two == {"list": []}


class Refused(msgspec.Struct, frozen=True):
    """A spec and the faults it is refused for."""

    id: str
    spec: JsonObject
    faults: list[str]


REFUSED = [
    Refused("a required field is missing", {}, ["spec.size: Required value"]),
    Refused(
        "a number is too small",
        {"size": -1},
        ["spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0"],
    ),
    Refused(
        "a number is too large",
        {"size": 11},
        ["spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10"],
    ),
    Refused(
        "a type is wrong",
        {"size": "big"},
        ['spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'],
    ),
    Refused(
        "a boolean is no integer",
        {"size": True},
        [
            'spec.size: Invalid value: "boolean": spec.size in body must be of type integer: "boolean"'
        ],
    ),
    Refused("a whole float is an integer", {"size": 3.0}, []),
    Refused("an integer is a number", {"size": 1, "ratio": 2}, []),
    Refused(
        "a value is none of the choices",
        {"size": 1, "colour": "green"},
        ['spec.colour: Unsupported value: "green": supported values: "red", "blue"'],
    ),
    Refused(
        "a text is too long",
        {"size": 1, "name": "abcdef"},
        ["spec.name: Too long: may not be more than 5 bytes"],
    ),
    Refused(
        "a text is too short",
        {"size": 1, "name": "a"},
        ['spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long'],
    ),
    Refused(
        "a text does not match",
        {"size": 1, "name": "AB"},
        ["spec.name: Invalid value: \"AB\": spec.name in body should match '^[a-z]+$'"],
    ),
    Refused(
        "a last newline does not match either",
        {"size": 1, "name": "ab\n"},
        ["spec.name: Invalid value: \"ab\\n\": spec.name in body should match '^[a-z]+$'"],
    ),
    Refused("an int-or-string takes an integer", {"size": 1, "port": 80}, []),
    Refused("an int-or-string takes a string", {"size": 1, "port": "http"}, []),
    Refused(
        "an int-or-string takes nothing else",
        {"size": 1, "port": 1.5},
        [
            'spec.port: Invalid value: "number": spec.port in body must be of type integer,string: "number"'
        ],
    ),
    Refused(
        "a list is too short",
        {"size": 1, "parts": []},
        ["spec.parts: Invalid value: 0: spec.parts in body should have at least 1 items"],
    ),
    Refused(
        "a list is too long",
        {"size": 1, "parts": [{"name": name} for name in "abcd"]},
        ["spec.parts: Too many: 4: must have at most 3 items"],
    ),
    Refused(
        "an element is named by its place",
        {"size": 1, "parts": [{"name": "a"}, {"name": "b", "count": "x"}]},
        [
            (
                'spec.parts[1].count: Invalid value: "string": spec.parts[1].count in body must be of '
                'type integer: "string"'
            )
        ],
    ),
    Refused(
        "a list that is a map names each element once",
        {"size": 1, "parts": [{"name": "a"}, {"name": "a"}]},
        ['spec.parts[1]: Duplicate value: {"name":"a"}'],
    ),
    Refused(
        "a list that is a set holds each element once",
        {"size": 1, "tags": ["x", "x"]},
        ['spec.tags[1]: Duplicate value: "x"'],
    ),
    Refused(
        "a value of a map is of the wrong type",
        {"size": 1, "amounts": {"x": "y"}},
        [
            'spec.amounts.x: Invalid value: "string": spec.amounts.x in body must be of type integer: "string"'
        ],
    ),
    Refused(
        "none of the alternatives",
        {"size": 1, "either": {}},
        [
            "spec.either: Invalid value: {}: spec.either in body must validate one and only one schema (oneOf)"
        ],
    ),
    Refused(
        "both alternatives",
        {"size": 1, "either": {"a": 1, "b": 2}},
        [
            'spec.either: Invalid value: {"a":1,"b":2}: spec.either in body must validate one and only one schema (oneOf)'
        ],
    ),
    Refused("one of the alternatives", {"size": 1, "either": {"b": 2}}, []),
    Refused("a time", {"size": 1, "since": "2026-01-01T00:00:00Z"}, []),
    Refused(
        "no time",
        {"size": 1, "since": "soon"},
        ['spec.since: Invalid value: "soon": spec.since in body must be of type date-time: "soon"'],
    ),
    Refused(
        "every fault is told",
        {"size": -1, "colour": "green"},
        [
            "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0",
            'spec.colour: Unsupported value: "green": supported values: "red", "blue"',
        ],
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_faults_are_told_as_kubernetes_does(case: Refused) -> None:
    assert [str(fault) for fault in validate(WIDGET_SCHEMA, {"spec": case.spec})] == case.faults


def test_faults_are_bounded() -> None:
    schema = {"properties": {"l": {"type": "array", "items": {"type": "integer"}}}}
    assert len(validate(schema, {"l": ["x"] * 1000})) == FAULTS_MAX
