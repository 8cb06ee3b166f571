"""JSON, merge and strategic merge patches, as tables."""

import copy

import msgspec
import pytest

from vc.cluster import ClusterError
from vc.cluster.errors import BadRequestError, InvalidError, UnsupportedMediaTypeError
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.apply.patches import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    apply_patch,
    json_patch,
)
from vc.simcluster.schema.builtin_resources import PODS
from vc.simcluster.store.resource import Resource

CUSTOM = Resource(
    group="example.com", version="v1", kind="W", plural="ws", singular="w",
    namespaced=True, custom=True,
)  # fmt: skip


class Case(msgspec.Struct, frozen=True):
    """An object, a patch, and what it becomes."""

    id: str
    before: Json
    patch: Json
    after: Json


JSON_CASES = [
    Case("add a member", {"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
    Case("add replaces a member", {"a": 1}, [{"op": "add", "path": "/a", "value": 2}], {"a": 2}),
    Case("add into a list", {"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
    Case("add at the end", {"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
    Case("remove a member", {"a": 1, "b": 2}, [{"op": "remove", "path": "/b"}], {"a": 1}),
    Case("remove an element", {"a": [1, 2]}, [{"op": "remove", "path": "/a/0"}], {"a": [2]}),
    Case("replace an element", {"a": [1, 2]}, [{"op": "replace", "path": "/a/0", "value": 9}], {"a": [9, 2]}),
    Case("replace with null", {"a": 1}, [{"op": "replace", "path": "/a", "value": None}], {"a": None}),
    Case("move", {"a": 1}, [{"op": "move", "from": "/a", "path": "/b"}], {"b": 1}),
    Case("copy", {"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
    Case("a test that holds", {"a": 1}, [{"op": "test", "path": "/a", "value": 1}], {"a": 1}),
    Case("slashes and tildes in names", {"a/b": 1, "c~d": 2}, [{"op": "remove", "path": "/a~1b"}, {"op": "replace", "path": "/c~0d", "value": 3}], {"c~d": 3}),
]  # fmt: skip


@pytest.mark.parametrize("case", JSON_CASES, ids=lambda case: case.id)
def test_json_patches(case: Case) -> None:
    assert json_patch(copy.deepcopy(case.before), case.patch) == case.after


class Bad(msgspec.Struct, frozen=True):
    """A patch that is refused, and how."""

    id: str
    patch: Json
    error: type[ClusterError]


BAD_CASES = [
    Bad("a test that fails", [{"op": "test", "path": "/a", "value": 2}], InvalidError),
    Bad("a path that is not there", [{"op": "remove", "path": "/x"}], InvalidError),
    Bad("replacing what is not there", [{"op": "replace", "path": "/x", "value": 1}], InvalidError),
    Bad("an index beyond the end", [{"op": "add", "path": "/l/5", "value": 1}], InvalidError),
    Bad("an index that is no number", [{"op": "remove", "path": "/l/x"}], InvalidError),
    Bad("a step into a number", [{"op": "add", "path": "/a/b", "value": 1}], InvalidError),
    Bad("an unknown operation", [{"op": "frob", "path": "/a"}], BadRequestError),
    Bad("no operation", [{"path": "/a"}], BadRequestError),
    Bad("no value", [{"op": "add", "path": "/b"}], BadRequestError),
    Bad("a path without a slash", [{"op": "add", "path": "b", "value": 1}], BadRequestError),
    Bad("no list", {"op": "add"}, BadRequestError),
    Bad("too many operations", [{"op": "remove", "path": "/a"}] * 10_001, BadRequestError),
    Bad("the end of everything", [{"op": "remove", "path": ""}], BadRequestError),
]


@pytest.mark.parametrize("case", BAD_CASES, ids=lambda case: case.id)
def test_a_bad_json_patch_is_refused(case: Bad) -> None:
    with pytest.raises(case.error):
        json_patch({"a": 1, "l": [1]}, case.patch)


MERGE_CASES = [
    Case("members merge", {"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
    Case("null removes", {"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
    Case("lists are replaced", {"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    Case("an object replaces a number", {"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
]


@pytest.mark.parametrize("case", MERGE_CASES, ids=lambda case: case.id)
def test_merge_patches(case: Case) -> None:
    assert apply_patch(CUSTOM, case.before, case.patch, content_type=MERGE_PATCH) == case.after


def _spec(*containers: JsonObject, **more: Json) -> JsonObject:
    return {"spec": {"containers": list(containers), **more}}


A: JsonObject = {"name": "a", "image": "one", "env": [{"name": "X", "value": "1"}]}
B: JsonObject = {"name": "b", "image": "two"}

STRATEGIC_CASES = [
    Case("elements merge by their key", _spec(A, B), _spec({"name": "b", "image": "three"}), _spec(A, {"name": "b", "image": "three"})),
    Case("a new element is appended", _spec(A), _spec(B), _spec(A, B)),
    Case("an element is deleted", _spec(A, B), _spec({"name": "a", "$patch": "delete"}), _spec(B)),
    Case("deleting what is not there is fine", _spec(B), _spec({"name": "a", "$patch": "delete"}), _spec(B)),
    Case("lists merge inside of elements", _spec(A), _spec({"name": "a", "env": [{"name": "Y", "value": "2"}]}), _spec({**A, "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]})),
    Case("null removes a member", _spec(A), _spec({"name": "a", "env": None}), _spec({"name": "a", "image": "one"})),
    Case("a list is replaced on request", _spec(A, B), _spec({"$patch": "replace"}, {"name": "c"}), _spec({"name": "c"})),
    Case("an object is replaced on request", {"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": {"$patch": "replace", "b": "2"}}}, {"metadata": {"labels": {"b": "2"}}}),
    Case("a list that is no map is replaced", _spec(tolerations=[{"key": "x"}]), {"spec": {"tolerations": [{"key": "y"}]}}, _spec(tolerations=[{"key": "y"}])),
    Case("plain lists are replaced", _spec({"name": "a", "args": ["1"]}), _spec({"name": "a", "args": ["2"]}), _spec({"name": "a", "args": ["2"]})),
    Case("finalizers are added", {"metadata": {"finalizers": ["x"]}}, {"metadata": {"finalizers": ["y", "x"]}}, {"metadata": {"finalizers": ["x", "y"]}}),
    Case("finalizers are taken away by name", {"metadata": {"finalizers": ["x", "y"]}}, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}, {"metadata": {"finalizers": ["y"]}}),
    Case("an order is kept", _spec(A, B), {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}, _spec(B, A)),
    Case("only the named keys are retained", {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}, {"spec": {"strategy": {"type": "Recreate"}}}),
    Case("conditions merge by type", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
    Case("nulls in new content mean nothing", _spec(A), _spec({"name": "b", "image": None}), _spec(A, {"name": "b"})),
]  # fmt: skip


@pytest.mark.parametrize("case", STRATEGIC_CASES, ids=lambda case: case.id)
def test_strategic_merge_patches(case: Case) -> None:
    before = copy.deepcopy(case.before)
    assert apply_patch(PODS, before, case.patch, content_type=STRATEGIC_PATCH) == case.after


def test_an_element_without_its_key_is_refused() -> None:
    with pytest.raises(BadRequestError, match="key 'name'"):
        apply_patch(PODS, _spec(A), _spec({"image": "x"}), content_type=STRATEGIC_PATCH)


def test_custom_resources_take_no_strategic_patch() -> None:
    with pytest.raises(UnsupportedMediaTypeError, match=r"application/merge-patch\+json"):
        apply_patch(CUSTOM, {}, {}, content_type=STRATEGIC_PATCH)


@pytest.mark.parametrize("content_type", [MERGE_PATCH, STRATEGIC_PATCH])
@pytest.mark.parametrize("patch", [[], "x", None, 1])
def test_a_merge_patch_is_an_object(content_type: str, patch: Json) -> None:
    with pytest.raises(BadRequestError):
        apply_patch(PODS, {}, patch, content_type=content_type)


def test_a_json_patch_must_leave_an_object() -> None:
    patch = [{"op": "replace", "path": "", "value": [1]}]
    with pytest.raises(BadRequestError, match="does not leave an object"):
        apply_patch(PODS, {"a": 1}, patch, content_type=JSON_PATCH)
