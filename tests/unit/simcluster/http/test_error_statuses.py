"""Error bodies: every failure is a Status with a code, a reason and details.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

from typing import Final

import aiohttp
import msgspec
import pytest

from vc.model.api.struct import Json, JsonObject

_CONFIGMAPS: Final = "/api/v1/namespaces/default/configmaps"
_QUEUES: Final = "/apis/scheduling.volcano.sh/v1beta1/queues"
_JSON: Final = "application/json"
_MERGE: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a cluster with the ConfigMap `c`, and the Status that answers it."""

    id: str
    method: str = "GET"
    path: str
    body: Json = None
    content_type: str = _JSON
    params: dict[str, str] = {}
    code: int
    reason: str
    message: str
    details: JsonObject | None = None


def named(name: str) -> JsonObject:
    return {"metadata": {"name": name}}


CASES = [
    Case(
        id="an object that does not exist", path=f"{_CONFIGMAPS}/x", code=404, reason="NotFound",
        message='configmaps "x" not found', details={"name": "x", "kind": "configmaps"},
    ),
    Case(
        id="a custom object that does not exist", path=f"{_QUEUES}/x", code=404, reason="NotFound",
        message='queues.scheduling.volcano.sh "x" not found',
        details={"name": "x", "kind": "queues", "group": "scheduling.volcano.sh"},
    ),
    Case(
        id="a group that does not exist", path="/apis/none.example.com/v1/things",
        code=404, reason="NotFound", message="could not find the requested resource",
    ),
    Case(
        id="a kind that does not exist", path="/api/v1/namespaces/default/things",
        code=404, reason="NotFound", message="could not find the requested resource",
    ),
    Case(
        id="a deletion of what does not exist", method="DELETE", path=f"{_CONFIGMAPS}/x",
        code=404, reason="NotFound", message='configmaps "x" not found',
    ),
    Case(
        id="a patch of what does not exist", method="PATCH", path=f"{_CONFIGMAPS}/x",
        body={}, content_type=_MERGE, code=404, reason="NotFound", message='"x" not found',
    ),
    Case(
        id="a creation of what exists", method="POST", path=_CONFIGMAPS, body=named("c"),
        code=409, reason="AlreadyExists", message='configmaps "c" already exists',
        details={"name": "c", "kind": "configmaps"},
    ),
    Case(
        id="an update of another version", method="PUT", path=f"{_CONFIGMAPS}/c",
        body={"metadata": {"name": "c", "resourceVersion": "1"}}, code=409, reason="Conflict",
        message="the object has been modified", details={"name": "c", "kind": "configmaps"},
    ),
    Case(
        id="an update of another uid", method="PUT", path=f"{_CONFIGMAPS}/c",
        body={"metadata": {"name": "c", "uid": "other"}}, code=409, reason="Conflict",
        message="UID in precondition: other",
    ),
    Case(
        id="an update under another name", method="PUT", path=f"{_CONFIGMAPS}/c", body=named("d"),
        code=400, reason="BadRequest", message="does not match the name on the URL",
    ),
    Case(
        id="a creation in another namespace", method="POST", path=_CONFIGMAPS,
        body={"metadata": {"name": "d", "namespace": "other"}}, code=400, reason="BadRequest",
        message="does not match the namespace sent on the request",
    ),
    Case(
        id="a creation with a version", method="POST", path=_CONFIGMAPS,
        body={"metadata": {"name": "d", "resourceVersion": "1"}}, code=400, reason="BadRequest",
        message="resourceVersion should not be set on objects to be created",
    ),
    Case(
        id="a creation without a name", method="POST", path=_CONFIGMAPS, body={"metadata": {}},
        code=422, reason="Invalid", message="name or generateName is required",
    ),
    Case(
        id="a creation with a name of upper case", method="POST", path=_CONFIGMAPS,
        body=named("Bad"), code=422, reason="Invalid", message="lowercase RFC 1123 subdomain",
    ),
    Case(
        id="a creation with a bad label", method="POST", path=_CONFIGMAPS,
        body={"metadata": {"name": "d", "labels": {"a b": "c"}}}, code=422, reason="Invalid",
        message="name part must consist of alphanumeric characters",
    ),
    Case(
        id="a creation in a namespace that does not exist", method="POST",
        path="/api/v1/namespaces/none/configmaps", body=named("d"), code=404, reason="NotFound",
        message='namespaces "none" not found',
    ),
    Case(
        id="a custom object that the schema refuses", method="POST", path=_QUEUES,
        body={"metadata": {"name": "q"}, "spec": {"weight": 0}}, code=422, reason="Invalid",
        message="spec.weight in body should be greater than or equal to 1",
    ),
    Case(
        id="a JSON patch whose test fails", method="PATCH", path=f"{_CONFIGMAPS}/c",
        body=[{"op": "test", "path": "/metadata/name", "value": "d"}], content_type=_JSON_PATCH,
        code=422, reason="Invalid", message="testing path /metadata/name failed",
    ),
    Case(
        id="a JSON patch that is no list", method="PATCH", path=f"{_CONFIGMAPS}/c", body={},
        content_type=_JSON_PATCH, code=400, reason="BadRequest", message="error decoding patch",
    ),
    Case(
        id="a merge patch that is a list", method="PATCH", path=f"{_CONFIGMAPS}/c", body=[],
        content_type=_MERGE, code=400, reason="BadRequest", message="a merge patch is a JSON object",
    ),
    Case(
        id="a patch of an unknown type", method="PATCH", path=f"{_CONFIGMAPS}/c", body={},
        content_type=_JSON, code=415, reason="UnsupportedMediaType",
        message="accepted media types include",
    ),
    Case(
        id="a body of an unknown type", method="POST", path=_CONFIGMAPS, body=named("d"),
        content_type="text/plain", code=415, reason="UnsupportedMediaType",
        message="accepted media types include",
    ),
    Case(
        id="a label selector that cannot be parsed", path=_CONFIGMAPS,
        params={"labelSelector": "a in ("}, code=400, reason="BadRequest",
        message="unable to parse requirement",
    ),
    Case(
        id="a field that is not selectable", path=_CONFIGMAPS, params={"fieldSelector": "data.a=1"},
        code=400, reason="BadRequest", message="field label not supported",
    ),
    Case(
        id="a continue token that is damaged", path=_CONFIGMAPS, params={"continue": "%%%"},
        code=400, reason="BadRequest", message="continue key is not valid",
    ),
    Case(
        id="a limit that is no number", path=_CONFIGMAPS, params={"limit": "many"}, code=400,
        reason="BadRequest", message="is not a whole number",
    ),
    Case(
        id="a dry run of an unknown kind", method="POST", path=_CONFIGMAPS, body=named("d"),
        params={"dryRun": "Some"}, code=400, reason="BadRequest", message="use All",
    ),
    Case(
        id="a method that collections do not have", method="PUT", path=_CONFIGMAPS, body=named("d"),
        code=405, reason="MethodNotAllowed", message="does not allow this method",
    ),
    Case(
        id="a deletion with an unknown policy", method="DELETE", path=f"{_CONFIGMAPS}/c",
        params={"propagationPolicy": "Sideways"}, code=400, reason="BadRequest",
        message="use Foreground, Background or Orphan",
    ),
    Case(
        id="a deletion whose precondition fails", method="DELETE", path=f"{_CONFIGMAPS}/c",
        body={"preconditions": {"uid": "other"}}, code=409, reason="Conflict",
        message="Precondition failed: UID in precondition: other",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_failure_is_a_status(case: Case, http: aiohttp.ClientSession) -> None:
    async with http.post(_CONFIGMAPS, json=named("c")) as made:
        assert made.status == 201
    data = None if case.body is None else msgspec.json.encode(case.body)
    async with http.request(
        case.method, case.path, data=data, params=case.params,
        headers={"Content-Type": case.content_type},
    ) as answer:  # fmt: skip
        status = await answer.json()
        assert answer.headers["Content-Type"] == "application/json"
    assert (answer.status, status["code"]) == (case.code, case.code)
    assert (status["kind"], status["apiVersion"]) == ("Status", "v1")
    assert (status["status"], status["reason"]) == ("Failure", case.reason)
    assert case.message in status["message"]
    if case.details is not None:
        assert status["details"] == case.details
    # A failed request has no effect.
    async with http.get(f"{_CONFIGMAPS}/d") as answer:
        assert answer.status == 404


async def test_an_invalid_object_names_each_fault_as_a_cause(http: aiohttp.ClientSession) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"weight": 0, "dequeueStrategy": "lifo"}}
    async with http.post(_QUEUES, json=body) as answer:
        status = await answer.json()
    details = status["details"]
    assert (details["kind"], details["name"]) == ("Queue", "q")
    causes = {cause["field"]: cause["reason"] for cause in details["causes"]}
    assert causes == {
        "spec.weight": "FieldValueInvalid",
        "spec.dequeueStrategy": "FieldValueNotSupported",
    }


async def test_a_custom_object_takes_no_strategic_merge_patch(http: aiohttp.ClientSession) -> None:
    async with http.post(_QUEUES, json=named("q")) as made:
        assert made.status == 201
    headers = {"Content-Type": _STRATEGIC}
    async with http.patch(f"{_QUEUES}/q", data=b"{}", headers=headers) as answer:
        status = await answer.json()
    assert (answer.status, status["reason"]) == (415, "UnsupportedMediaType")
    assert "application/merge-patch+json" in status["message"]
    assert _STRATEGIC not in status["message"]
