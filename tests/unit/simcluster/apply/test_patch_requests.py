"""Patches as requests: what is stored, what is refused, and that a refusal writes nothing.

https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
"""

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api, make_pod, pod_named
from vc.cluster.errors import (
    BadRequestError,
    ClusterError,
    ConflictError,
    InvalidError,
    UnsupportedMediaTypeError,
)
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.apply.patches import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from vc.simcluster.schema.builtin_resources import PODS


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A patch of the pod `p` that is refused."""

    id: str
    media_type: str = JSON_PATCH
    patch: Json
    error: type[ClusterError]
    message: str = ""


def op(name: str, path: str, **more: Json) -> list[JsonObject]:
    return [{"op": name, "path": path, **more}]


REFUSED = [
    Refused(id="a test of another value", patch=op("test", "/metadata/name", value="q"), error=InvalidError, message="testing path /metadata/name failed"),
    Refused(id="a test of what is absent", patch=op("test", "/metadata/none", value=1), error=InvalidError, message="does not exist"),
    Refused(id="a failing test after a change", patch=[*op("add", "/metadata/labels/a", value="1"), *op("test", "/metadata/name", value="q")], error=InvalidError),
    Refused(id="a removal of what is absent", patch=op("remove", "/metadata/labels/none"), error=InvalidError),
    Refused(id="a replacement of what is absent", patch=op("replace", "/metadata/labels/none", value="1"), error=InvalidError),
    Refused(id="an addition below what is absent", patch=op("add", "/none/a", value="1"), error=InvalidError),
    Refused(id="a move from what is absent", patch=op("move", "/metadata/x", **{"from": "/none"}), error=InvalidError),
    Refused(id="a copy from what is absent", patch=op("copy", "/metadata/x", **{"from": "/none"}), error=InvalidError),
    Refused(id="a negative index", patch=op("remove", "/spec/containers/-1"), error=InvalidError),
    Refused(id="the end of a list cannot be removed", patch=op("remove", "/spec/containers/-"), error=InvalidError),
    Refused(id="an index with a sign", patch=op("add", "/spec/containers/+0", value={}), error=InvalidError),
    Refused(id="an index of other digits", patch=op("remove", "/spec/containers/٠"), error=InvalidError),
    Refused(id="an operation of upper case", patch=op("ADD", "/metadata/labels/a", value="1"), error=BadRequestError, message="unknown operation"),
    Refused(id="a path that is a number", patch=[{"op": "remove", "path": 1}], error=BadRequestError, message="error decoding patch"),
    Refused(id="an operation that is a text", patch=["remove"], error=BadRequestError, message="error decoding patch"),
    Refused(id="a replacement of the whole object by a list", patch=op("replace", "", value=[]), error=BadRequestError, message="does not leave an object"),
    Refused(id="a JSON patch that gives another name", patch=op("replace", "/metadata/name", value="q"), error=BadRequestError, message="does not match the name"),
    Refused(id="a JSON patch that gives another kind", patch=op("replace", "/kind", value="Node"), error=BadRequestError, message="Kind=Node"),
    Refused(id="a merge patch that is a text", media_type=MERGE_PATCH, patch="x", error=BadRequestError, message="a merge patch is a JSON object"),
    Refused(id="a merge patch that is null", media_type=MERGE_PATCH, patch=None, error=BadRequestError, message="a merge patch is a JSON object"),
    Refused(id="a merge patch with labels that are a list", media_type=MERGE_PATCH, patch={"metadata": {"labels": ["a"]}}, error=BadRequestError, message="metadata"),
    Refused(id="a merge patch with a label that is a number", media_type=MERGE_PATCH, patch={"metadata": {"labels": {"a": 1}}}, error=BadRequestError, message="metadata"),
    Refused(id="a merge patch with an invalid label", media_type=MERGE_PATCH, patch={"metadata": {"labels": {"a": "b c"}}}, error=InvalidError, message="a valid label"),
    Refused(id="a merge patch of another version", media_type=MERGE_PATCH, patch={"metadata": {"resourceVersion": "1"}}, error=ConflictError, message="the object has been modified"),
    Refused(id="a merge patch of another uid", media_type=MERGE_PATCH, patch={"metadata": {"uid": "u"}}, error=ConflictError, message="UID in precondition"),
    Refused(id="a strategic patch that is a list", media_type=STRATEGIC_PATCH, patch=[], error=BadRequestError, message="a merge patch is a JSON object"),
    Refused(id="a strategic patch without a merge key", media_type=STRATEGIC_PATCH, patch={"spec": {"containers": [{"image": "x"}]}}, error=BadRequestError, message="does not contain its key 'name'"),
    Refused(id="a strategic deletion without a merge key", media_type=STRATEGIC_PATCH, patch={"spec": {"containers": [{"$patch": "delete"}]}}, error=BadRequestError, message="does not contain its key 'name'"),
    Refused(id="an unknown type of patch", media_type="application/json", patch={}, error=UnsupportedMediaTypeError, message="accepted media types include"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
async def test_a_patch_that_is_refused_writes_nothing(case: Refused) -> None:
    api = make_api()
    await api.create(PODS, make_pod("p", labels={"x": "1"}), namespace="default")
    before, version = pod_named(api, "p"), api.store.version
    with pytest.raises(case.error) as caught:
        await api.patch(
            PODS, case.patch, content_type=case.media_type, name="p", namespace="default"
        )
    assert case.message in caught.value.message
    assert (pod_named(api, "p"), api.store.version) == (before, version)


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """A patch of the labels `x=1, y=2`, and the labels then."""

    id: str
    media_type: str
    patch: Json
    labels: JsonObject


def meta(labels: Json) -> JsonObject:
    return {"metadata": {"labels": labels}}


LABELS = [
    Labels(id="a merge patch adds", media_type=MERGE_PATCH, patch=meta({"z": "3"}), labels={"x": "1", "y": "2", "z": "3"}),
    Labels(id="a merge patch removes by null", media_type=MERGE_PATCH, patch=meta({"x": None}), labels={"y": "2"}),
    Labels(id="a merge patch removes what is absent", media_type=MERGE_PATCH, patch=meta({"z": None}), labels={"x": "1", "y": "2"}),
    Labels(id="a merge patch removes all by null", media_type=MERGE_PATCH, patch=meta(None), labels={}),
    Labels(id="an empty merge patch", media_type=MERGE_PATCH, patch={}, labels={"x": "1", "y": "2"}),
    Labels(id="a strategic patch adds", media_type=STRATEGIC_PATCH, patch=meta({"z": "3"}), labels={"x": "1", "y": "2", "z": "3"}),
    Labels(id="a strategic patch removes by null", media_type=STRATEGIC_PATCH, patch=meta({"x": None}), labels={"y": "2"}),
    Labels(id="a strategic patch replaces on request", media_type=STRATEGIC_PATCH, patch=meta({"$patch": "replace", "z": "3"}), labels={"z": "3"}),
    Labels(id="a strategic patch deletes on request", media_type=STRATEGIC_PATCH, patch=meta({"$patch": "delete"}), labels={}),
    Labels(id="a strategic patch retains keys", media_type=STRATEGIC_PATCH, patch=meta({"$retainKeys": ["y"]}), labels={"y": "2"}),
    Labels(id="a JSON patch adds", media_type=JSON_PATCH, patch=op("add", "/metadata/labels/z", value="3"), labels={"x": "1", "y": "2", "z": "3"}),
    Labels(id="a JSON patch names a slash by ~1", media_type=JSON_PATCH, patch=op("add", "/metadata/labels/e.com~1z", value="3"), labels={"x": "1", "y": "2", "e.com/z": "3"}),
    Labels(id="a JSON patch removes", media_type=JSON_PATCH, patch=op("remove", "/metadata/labels/x"), labels={"y": "2"}),
    Labels(id="a JSON patch moves", media_type=JSON_PATCH, patch=op("move", "/metadata/labels/z", **{"from": "/metadata/labels/x"}), labels={"y": "2", "z": "1"}),
    Labels(id="a JSON patch copies", media_type=JSON_PATCH, patch=op("copy", "/metadata/labels/z", **{"from": "/metadata/labels/x"}), labels={"x": "1", "y": "2", "z": "1"}),
    Labels(id="an empty JSON patch", media_type=JSON_PATCH, patch=[], labels={"x": "1", "y": "2"}),
]  # fmt: skip


@pytest.mark.parametrize("case", LABELS, ids=lambda case: case.id)
async def test_the_labels_after_a_patch(case: Labels) -> None:
    api = make_api()
    await api.create(PODS, make_pod("p", labels={"x": "1", "y": "2"}), namespace="default")
    version = api.store.version
    await api.patch(PODS, case.patch, content_type=case.media_type, name="p", namespace="default")
    assert pod_named(api, "p")["metadata"].get("labels", {}) == case.labels
    # A patch without an effect has no new version.
    assert (api.store.version == version) is (case.labels == {"x": "1", "y": "2"})
