"""Pruning and defaulting of custom resources by their structural schema.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
"""

import copy

import msgspec
import pytest

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.schema.structural import conform

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"


def of(**properties: Json) -> JsonObject:
    return {"type": "object", "properties": properties}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The schema of `spec`, a spec, and the spec as it is stored."""

    id: str
    schema: JsonObject
    spec: Json
    stored: Json


TEXT: JsonObject = {"type": "string"}
RED: JsonObject = {"type": "string", "default": "red"}

PRUNED = [
    Case(id="a declared field stays", schema=of(a=TEXT), spec={"a": "1"}, stored={"a": "1"}),
    Case(id="an unknown field is pruned", schema=of(a=TEXT), spec={"a": "1", "b": 2}, stored={"a": "1"}),
    Case(id="an unknown object is pruned whole", schema=of(), spec={"b": {"c": {"d": 1}}}, stored={}),
    Case(id="a field of a declared object is pruned", schema=of(a=of(b=TEXT)), spec={"a": {"b": "1", "c": 1}}, stored={"a": {"b": "1"}}),
    Case(
        id="fields of list elements are pruned",
        schema=of(a={"type": "array", "items": of(b=TEXT)}), spec={"a": [{"b": "1", "c": 1}, {"c": 2}]}, stored={"a": [{"b": "1"}, {}]},
    ),
    Case(
        id="fields of elements of nested lists are pruned",
        schema=of(a={"type": "array", "items": {"type": "array", "items": of(b=TEXT)}}), spec={"a": [[{"c": 1}]]}, stored={"a": [[{}]]},
    ),
    Case(
        id="fields of map entries are pruned and their names are not",
        schema=of(a={"type": "object", "additionalProperties": of(b=TEXT)}), spec={"a": {"any": {"b": "1", "c": 1}}}, stored={"a": {"any": {"b": "1"}}},
    ),
    Case(id="additionalProperties true keeps everything", schema=of(a={"type": "object", "additionalProperties": True}), spec={"a": {"b": {"c": 1}}}, stored={"a": {"b": {"c": 1}}}),
    Case(id="a preserved object keeps unknown fields", schema={**of(), PRESERVE: True}, spec={"a": {"b": 1}}, stored={"a": {"b": 1}}),
    Case(id="declared fields of a preserved object are pruned below", schema={**of(a=of(b=TEXT)), PRESERVE: True}, spec={"a": {"b": "1", "c": 1}, "x": {"y": 1}}, stored={"a": {"b": "1"}, "x": {"y": 1}}),
    Case(id="preservation may start below", schema=of(a={**of(), PRESERVE: True}), spec={"a": {"b": 1}, "c": 2}, stored={"a": {"b": 1}}),
    Case(
        id="an embedded resource keeps its type and metadata",
        schema=of(t={**of(spec=of()), EMBEDDED: True}),
        spec={"t": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"x": 1}, "y": 1}},
        stored={"t": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}},
    ),
    Case(id="an ordinary object has no metadata by itself", schema=of(t=of()), spec={"t": {"metadata": {"name": "p"}}}, stored={"t": {}}),
]  # fmt: skip


@pytest.mark.parametrize("case", PRUNED, ids=lambda case: case.id)
def test_unknown_fields_are_pruned(case: Case) -> None:
    check(case)


DEFAULTED = [
    Case(id="an absent field gets its default", schema=of(a=RED), spec={}, stored={"a": "red"}),
    Case(id="a given value stays", schema=of(a=RED), spec={"a": "blue"}, stored={"a": "blue"}),
    Case(id="an empty text is a given value", schema=of(a=RED), spec={"a": ""}, stored={"a": ""}),
    Case(id="false is a given value", schema=of(a={"type": "boolean", "default": True}), spec={"a": False}, stored={"a": False}),
    Case(id="zero is a given value", schema=of(a={"type": "integer", "default": 1}), spec={"a": 0}, stored={"a": 0}),
    Case(id="a default may be false", schema=of(a={"type": "boolean", "default": False}), spec={}, stored={"a": False}),
    Case(id="null is replaced by the default", schema=of(a=RED), spec={"a": None}, stored={"a": "red"}),
    Case(id="null of a nullable field stays", schema=of(a={**RED, "nullable": True}), spec={"a": None}, stored={"a": None}),
    Case(id="null without a default is dropped", schema=of(a=TEXT), spec={"a": None}, stored={}),
    Case(id="a default below an absent object is not set", schema=of(a=of(b=RED)), spec={}, stored={}),
    Case(id="a default below a given object is set", schema=of(a=of(b=RED)), spec={"a": {}}, stored={"a": {"b": "red"}}),
    Case(id="a default object gets the defaults of its fields", schema=of(a={**of(b=RED), "default": {}}), spec={}, stored={"a": {"b": "red"}}),
    Case(id="a default object keeps its own values", schema=of(a={**of(b=RED), "default": {"b": "blue"}}), spec={}, stored={"a": {"b": "blue"}}),
    Case(id="list elements get defaults", schema=of(a={"type": "array", "items": of(b=RED)}), spec={"a": [{}, {"b": "x"}]}, stored={"a": [{"b": "red"}, {"b": "x"}]}),
    Case(id="map entries get defaults", schema=of(a={"type": "object", "additionalProperties": of(b=RED)}), spec={"a": {"k": {}}}, stored={"a": {"k": {"b": "red"}}}),
    Case(id="a value of the wrong type is left to validation", schema=of(a=of(b=RED)), spec={"a": "text"}, stored={"a": "text"}),
]  # fmt: skip


@pytest.mark.parametrize("case", DEFAULTED, ids=lambda case: case.id)
def test_absent_fields_get_their_defaults(case: Case) -> None:
    check(case)


def check(case: Case) -> None:
    schema = of(spec=case.schema)
    written = copy.deepcopy(schema)
    obj: JsonObject = {"metadata": {"any": 1}, "spec": copy.deepcopy(case.spec)}
    conform(schema, obj)
    assert obj == {"metadata": {"any": 1}, "spec": case.stored}
    # A stored object is read and written again many times, which must not change it.
    conform(schema, obj)
    assert obj["spec"] == case.stored
    # All objects share the schema.
    assert schema == written
