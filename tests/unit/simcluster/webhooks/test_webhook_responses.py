"""Responses of admission webhooks: what counts as a decision, and what as a failure.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Final

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.unit.simcluster.webhooks.hook import RULE, Hook, Register
from vc.cluster.errors import ClusterError, ServerError
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.verbs.api import Api
from vc.simcluster.webhooks.calls import ANSWER_BYTES_MAX, groups_of

_CONFIGMAPS_PATH: Final = "/api/v1/namespaces/default/configmaps"


async def create(api: Api, *, name: str = "c", dry_run: bool = False) -> JsonObject:
    body = {"metadata": {"name": name}, "data": {"a": "1"}}
    resource = api.registry.for_kind(CONFIGMAPS)
    return await api.create(resource, body, namespace="default", dry_run=dry_run)


def stored(api: Api) -> int:
    return len(api.list(api.registry.for_kind(CONFIGMAPS), namespace="default").items)


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a denial, and the error that the client gets."""

    id: str
    status: Json
    code: int
    reason: str
    message: str


def denied(words: str) -> str:
    return f'admission webhook "test.pyroclast.io" denied the request{words}'


DENIALS = [
    Denial(
        id="no status at all",
        status=None, code=400, reason="", message=denied(" without explanation"),
    ),
    Denial(
        id="a message only",
        status={"message": "no"}, code=400, reason="", message=denied(": no"),
    ),
    Denial(
        id="a reason stands in for the message",
        status={"reason": "Weather"}, code=400, reason="", message=denied(": Weather"),
    ),
    Denial(
        id="a message wins over the reason",
        status={"reason": "Weather", "message": "rain"}, code=400, reason="",
        message=denied(": rain"),
    ),
    Denial(
        id="code 403 is Forbidden",
        status={"code": 403, "message": "no"}, code=403, reason="Forbidden",
        message=denied(": no"),
    ),
    Denial(
        id="code 404 is NotFound",
        status={"code": 404, "message": "no"}, code=404, reason="NotFound", message=denied(": no"),
    ),
    Denial(
        id="code 409 is Conflict",
        status={"code": 409, "message": "no"}, code=409, reason="Conflict", message=denied(": no"),
    ),
    Denial(
        id="code 422 is Invalid",
        status={"code": 422, "message": "no"}, code=422, reason="Invalid", message=denied(": no"),
    ),
    Denial(
        id="code 429 is TooManyRequests",
        status={"code": 429, "message": "no"}, code=429, reason="TooManyRequests",
        message=denied(": no"),
    ),
    Denial(
        id="the reason BadRequest is kept",
        status={"reason": "BadRequest", "message": "no"}, code=400, reason="BadRequest",
        message=denied(": no"),
    ),
    Denial(
        id="a code without an error of the API is a bad request",
        status={"code": 418, "message": "no"}, code=400, reason="", message=denied(": no"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
@pytest.mark.parametrize("case", DENIALS, ids=lambda case: case.id)
async def test_the_error_of_a_denial(
    api: Api, hook: Hook, register: Register, case: Denial, kind: str
) -> None:
    await register(kind)
    hook.answer = {"allowed": False, "status": case.status}
    with pytest.raises(ClusterError) as caught:
        await create(api)
    error = caught.value
    assert (error.code, error.reason, error.message) == (case.code, case.reason, case.message)
    assert stored(api) == 0


@pytest.mark.parametrize("case", DENIALS, ids=lambda case: case.id)
async def test_the_failure_policy_does_not_apply_to_a_denial(
    api: Api, hook: Hook, register: Register, case: Denial
) -> None:
    await register(failurePolicy="Ignore")
    hook.answer = {"allowed": False, "status": case.status}
    with pytest.raises(ClusterError, match="denied the request"):
        await create(api)
    assert stored(api) == 0


async def test_a_denial_over_http_is_a_status(
    http: aiohttp.ClientSession, hook: Hook, register: Register
) -> None:
    await register()
    hook.answer = {"allowed": False, "status": {"code": 403, "message": "no"}}
    async with http.post(_CONFIGMAPS_PATH, json={"metadata": {"name": "c"}}) as answer:
        assert answer.status == 403
        assert await answer.json() == {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "reason": "Forbidden", "code": 403, "message": denied(": no"),
        }  # fmt: skip


class RawServer:
    """A server that sends one fixed response in chunks."""

    def __init__(self) -> None:
        self.status = 200
        self.chunks: list[bytes] = []
        self.headers: dict[str, str] = {}
        self.uid = ""
        self.calls = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.calls += 1
        self.uid = (await request.json())["request"]["uid"]
        response = web.StreamResponse(status=self.status, headers=self.headers)
        await response.prepare(request)
        for chunk in self.chunks:
            await response.write(chunk.replace(b"UID", self.uid.encode()))
            await asyncio.sleep(0)  # so that the client reads the chunks one by one
        await response.write_eof()
        return response


@pytest.fixture(name="raw")
def _raw() -> RawServer:
    return RawServer()


@pytest.fixture(name="raw_url")
async def _raw_url(raw: RawServer) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/raw", raw.handle)
    async with TestServer(app) as server:
        yield str(server.make_url("/raw"))


ALLOWED: Final = b'{"response":{"uid":"UID","allowed":true}}'


class Raw(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the webhook's server, and the complaint if it counts as failed."""

    id: str
    chunks: list[bytes]
    status: int = 200
    headers: dict[str, str] = {}
    complaint: str = ""


def padded(size: int) -> list[bytes]:
    """An allowing response with a long warning, in chunks of 50 kB."""
    text = b'{"response":{"uid":"UID","allowed":true,"warnings":["' + b"x" * size + b'"]}}'
    return [text[at : at + 50_000] for at in range(0, len(text), 50_000)]


RAW = [
    Raw(id="a plain response", chunks=[ALLOWED]),
    Raw(id="a response in single bytes", chunks=[ALLOWED[:1], ALLOWED[1:2], ALLOWED[2:]]),
    Raw(id="a response that is cut in two", chunks=[ALLOWED[:20], ALLOWED[20:]]),
    Raw(id="a response of 100 kB", chunks=padded(100_000)),
    Raw(id="a response of 1 MB", chunks=padded(1_000_000)),
    Raw(id="a response of 5 MB", chunks=padded(5_000_000)),
    Raw(
        id="a response above the bound", chunks=padded(ANSWER_BYTES_MAX),
        complaint="the answer is larger than 6291456 bytes",
    ),
    Raw(id="unknown members are ignored", chunks=[b'{"x":1,"response":{"uid":"UID","allowed":true,"y":2}}']),
    Raw(id="an empty response", chunks=[], complaint="not an AdmissionReview"),
    Raw(id="a response that is no JSON", chunks=[b"<html>"], complaint="not an AdmissionReview"),
    Raw(id="a list", chunks=[b"[]"], complaint="not an AdmissionReview"),
    Raw(id="a review without a response", chunks=[b"{}"], complaint="not an AdmissionReview"),
    Raw(id="a response that ends too early", chunks=[ALLOWED[:-5]], complaint="not an AdmissionReview"),
    Raw(id="allowed as a text", chunks=[b'{"response":{"uid":"UID","allowed":"true"}}'], complaint="not an AdmissionReview"),
    Raw(id="a response without a uid", chunks=[b'{"response":{"allowed":true}}'], complaint="the answer is for ''"),
    Raw(id="a response for another request", chunks=[b'{"response":{"uid":"1","allowed":true}}'], complaint="the answer is for '1'"),
    Raw(id="code 201 is no decision", status=201, chunks=[ALLOWED], complaint="the server answered 201"),
    Raw(id="code 404", status=404, chunks=[b"no such path"], complaint="the server answered 404: no such path"),
    Raw(id="code 500", status=500, chunks=[b"broken"], complaint="the server answered 500: broken"),
    Raw(
        id="a redirect is not followed", status=302, chunks=[], headers={"Location": "http://127.0.0.1:9/"},
        complaint="the server answered 302",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", RAW, ids=lambda case: case.id)
async def test_a_response_is_read_whole_or_has_failed(
    api: Api, register: Register, raw: RawServer, raw_url: str, case: Raw
) -> None:
    raw.status, raw.chunks, raw.headers = case.status, case.chunks, case.headers
    await register(clientConfig={"url": raw_url})
    if case.complaint:
        with pytest.raises(ServerError) as caught:
            await create(api)
        error = caught.value
        assert (error.code, error.reason) == (500, "InternalError")
        assert 'failed calling webhook "test.pyroclast.io"' in error.message
        assert case.complaint in error.message
    else:
        await create(api)
    assert stored(api) == (0 if case.complaint else 1)
    assert raw.calls == 1


@pytest.mark.parametrize("case", RAW, ids=lambda case: case.id)
async def test_failure_policy_ignore_admits_the_write(
    api: Api, register: Register, raw: RawServer, raw_url: str, case: Raw
) -> None:
    raw.status, raw.chunks, raw.headers = case.status, case.chunks, case.headers
    await register(clientConfig={"url": raw_url}, failurePolicy="Ignore")
    await create(api)
    assert stored(api) == 1


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """The patch of a mutating webhook, and the data or the complaint."""

    id: str
    patch: str
    data: JsonObject | None = None


def encoded(*operations: Json) -> str:
    return base64.b64encode(msgspec.json.encode(operations)).decode()


PATCHES = [
    Patch(id="an empty list changes nothing", patch=encoded(), data={"a": "1"}),
    Patch(
        id="a member is added",
        patch=encoded({"op": "add", "path": "/data/b", "value": "2"}), data={"a": "1", "b": "2"},
    ),
    Patch(
        id="a member is replaced",
        patch=encoded({"op": "replace", "path": "/data/a", "value": "2"}), data={"a": "2"},
    ),
    Patch(
        id="operations see the result of the earlier ones",
        patch=encoded(
            {"op": "add", "path": "/data/b", "value": "2"},
            {"op": "move", "from": "/data/b", "path": "/data/c"},
        ),
        data={"a": "1", "c": "2"},
    ),
    Patch(
        id="a test that holds",
        patch=encoded({"op": "test", "path": "/data/a", "value": "1"}), data={"a": "1"},
    ),
    Patch(id="a test that fails", patch=encoded({"op": "test", "path": "/data/a", "value": "2"})),
    Patch(id="a path that does not exist", patch=encoded({"op": "remove", "path": "/x/y"})),
    Patch(id="an operation that does not exist", patch=encoded({"op": "frob", "path": "/x"})),
    Patch(id="a patch that is not base64", patch="%%%"),
    Patch(id="a patch that is no JSON", patch=base64.b64encode(b"{").decode()),
    Patch(id="a patch that is no list", patch=base64.b64encode(b'{"a":1}').decode()),
    Patch(
        id="a patch that leaves no object",
        patch=encoded({"op": "replace", "path": "", "value": [1]}),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", PATCHES, ids=lambda case: case.id)
async def test_the_patch_of_a_mutating_webhook(
    api: Api, hook: Hook, register: Register, case: Patch
) -> None:
    await register("Mutating")
    hook.answer = {"allowed": True, "patchType": "JSONPatch", "patch": case.patch}
    if case.data is None:
        with pytest.raises(ServerError, match="failed calling webhook"):
            await create(api)
        assert stored(api) == 0
    else:
        assert (await create(api))["data"] == case.data


async def test_the_patch_of_a_validating_webhook_has_no_effect(
    api: Api, hook: Hook, register: Register
) -> None:
    await register("Validating")
    hook.patches({"op": "add", "path": "/data/b", "value": "2"})
    assert (await create(api))["data"] == {"a": "1"}


async def test_a_large_patch_is_applied_whole(api: Api, hook: Hook, register: Register) -> None:
    await register("Mutating")
    hook.patches({"op": "add", "path": "/data/b", "value": "x" * 700_000})
    assert len((await create(api))["data"]["b"]) == 700_000


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_webhook_is_told_of_a_dry_run(
    api: Api, hook: Hook, register: Register, dry_run: bool
) -> None:
    await register("Mutating", sideEffects="NoneOnDryRun")
    await register("Validating", sideEffects="None")
    await create(api, dry_run=dry_run)
    assert [asked["dryRun"] for asked in hook.asked] == [dry_run, dry_run]
    assert stored(api) == (0 if dry_run else 1)


async def test_the_review_of_an_update_has_both_objects(
    api: Api, hook: Hook, register: Register
) -> None:
    made = await create(api)
    await register(rules=[{**RULE, "operations": ["UPDATE"]}])
    resource = api.registry.for_kind(CONFIGMAPS)
    await api.replace(resource, {**made, "data": {"a": "2"}}, name="c", namespace="default")
    (asked,) = hook.asked
    assert asked["operation"] == "UPDATE"
    assert (asked["oldObject"]["data"], asked["object"]["data"]) == ({"a": "1"}, {"a": "2"})
    assert asked["requestKind"] == asked["kind"]
    assert asked["requestResource"] == asked["resource"]


GROUPS = [
    ("", ["system:authenticated", "system:masters"]),
    ("alice", ["system:authenticated"]),
    (
        "system:serviceaccount:team:builder",
        ["system:authenticated", "system:serviceaccounts", "system:serviceaccounts:team"],
    ),
    ("x:system:serviceaccount:team:builder", ["system:authenticated"]),
]


@pytest.mark.parametrize(("user", "groups"), GROUPS, ids=[user or "none" for user, _ in GROUPS])
def test_the_groups_of_a_user(user: str, groups: list[str]) -> None:
    assert groups_of(user) == groups
