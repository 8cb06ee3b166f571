"""Admission webhooks, called over HTTP and HTTPS."""

import base64
import ssl
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.unit.simcluster.webhooks.certificates import make_certificate
from tests.unit.simcluster.webhooks.hook import RULE, Hook, Register
from vc.cluster.errors import ClusterError, ForbiddenError, ServerError
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.schema.builtin_resources import NAMESPACES, PODS
from vc.simcluster.server import EmbeddedServer
from vc.simcluster.store.resource import Resource
from vc.simcluster.verbs.admission import WARNINGS
from vc.simcluster.verbs.api import Api


def _configmaps(api: Api) -> Resource:
    return api.registry.lookup("", "v1", "configmaps")


async def _create(api: Api, *, name: str = "c", labels: Json = None) -> JsonObject:
    body = {"metadata": {"name": name, "labels": labels or {}}, "data": {"a": "1"}}
    return await api.create(_configmaps(api), body, namespace="default", user="someone")


async def test_a_mutating_webhook_changes_the_object(
    api: Api, hook: Hook, register: Register
) -> None:
    await register("Mutating")
    hook.patches({"op": "add", "path": "/data/b", "value": "2"})
    assert (await _create(api))["data"] == {"a": "1", "b": "2"}
    (asked,) = hook.asked
    assert (asked["operation"], asked["namespace"], asked["name"]) == ("CREATE", "default", "c")
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert asked["userInfo"]["username"] == "someone"
    assert asked["object"]["data"] == {"a": "1"}


async def test_a_denial_stops_the_write_with_the_webhooks_words(
    api: Api, hook: Hook, register: Register
) -> None:
    await register()
    hook.answer = {"allowed": False, "status": {"message": "not today", "code": 403}}
    with pytest.raises(ForbiddenError) as caught:
        await _create(api)
    assert caught.value.message == (
        'admission webhook "test.pyroclast.io" denied the request: not today'
    )
    assert api.list(_configmaps(api), namespace="default").items == []


async def test_a_denial_without_words_is_a_bad_request(
    api: Api, hook: Hook, register: Register
) -> None:
    await register()
    hook.answer = {"allowed": False}
    with pytest.raises(ClusterError, match="without explanation") as caught:
        await _create(api)
    assert caught.value.code == 400


async def test_warnings_reach_the_client_as_headers(
    api: Api, hook: Hook, register: Register, http: aiohttp.ClientSession
) -> None:
    await register()
    hook.answer = {"allowed": True, "warnings": ['say "please"', "line\nbreak"]}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    async with http.post("/api/v1/namespaces/default/configmaps", json=body) as answer:
        assert answer.headers.getall("Warning") == [
            '299 - "say \\"please\\""',
            '299 - "line break"',
        ]
    assert WARNINGS.get() is None


@pytest.mark.parametrize(
    "fields",
    [
        {"rules": [{**RULE, "operations": ["UPDATE"]}]},
        {"rules": [{**RULE, "resources": ["configmaps/status", "pods"]}]},
        {"rules": [{**RULE, "apiGroups": ["apps"]}]},
        {"rules": [{**RULE, "scope": "Cluster"}]},
        {"objectSelector": {"matchLabels": {"team": "b"}}},
        {"namespaceSelector": {"matchExpressions": [{"key": "open", "operator": "Exists"}]}},
        {"matchConditions": [{"name": "m", "expression": "object.metadata.name == 'other'"}]},
    ],
    ids=["operation", "resource", "group", "scope", "object", "namespace", "condition"],
)
async def test_a_webhook_that_is_not_concerned_is_not_asked(
    api: Api, hook: Hook, register: Register, fields: JsonObject
) -> None:
    await register(**fields)
    await _create(api, labels={"team": "a"})
    assert hook.asked == []


@pytest.mark.parametrize(
    "fields",
    [
        {"rules": [{**RULE, "operations": ["*"], "resources": ["*"], "apiGroups": ["*"]}]},
        {"rules": [{**RULE, "resources": ["*/*"]}]},
        {"objectSelector": {"matchLabels": {"team": "a"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
        {"matchConditions": [{"name": "m", "expression": "request.operation in ['CREATE']"}]},
    ],
    ids=["any", "any with subresources", "object", "namespace", "condition"],
)
async def test_a_webhook_that_is_concerned_is_asked(
    api: Api, hook: Hook, register: Register, fields: JsonObject
) -> None:
    await register(**fields)
    await _create(api, labels={"team": "a"})
    assert len(hook.asked) == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"clientConfig": {"url": "http://127.0.0.1:9/hook"}},
        {"clientConfig": {"service": {"namespace": "x", "name": "nobody"}}},
        {"matchConditions": [{"name": "m", "expression": "object.all(x, true)"}]},
    ],
    ids=["nobody listens", "no such service", "unknown expression"],
)
async def test_the_failure_policy_decides_when_a_webhook_cannot_be_asked(
    api: Api, register: Register, broken: JsonObject
) -> None:
    await register(failurePolicy="Ignore", **broken)
    await _create(api)
    await register(failurePolicy="Fail", **broken)
    with pytest.raises(ServerError, match='failed calling webhook "test'):
        await _create(api, name="d")


async def test_a_webhook_that_is_too_slow_has_failed(
    api: Api, hook: Hook, register: Register
) -> None:
    await register(timeoutSeconds=1)
    hook.pause_seconds = 5.0
    with pytest.raises(ServerError, match="no answer within 1 s"):
        await _create(api)


async def test_an_answer_to_another_question_is_a_failure(
    api: Api, hook: Hook, register: Register
) -> None:
    await register()
    hook.answer = {"allowed": True, "uid": "another"}
    with pytest.raises(ServerError, match="the answer is for 'another'"):
        await _create(api)


async def test_a_patch_that_does_not_fit_is_a_failure(
    api: Api, hook: Hook, register: Register
) -> None:
    await register("Mutating")
    hook.patches({"op": "remove", "path": "/nothing/here"})
    with pytest.raises(ServerError, match="failed calling webhook"):
        await _create(api)


async def test_deletion_is_asked_about_with_the_old_object(
    api: Api, hook: Hook, register: Register
) -> None:
    await _create(api)
    await register(rules=[{**RULE, "operations": ["DELETE"]}])
    await api.delete(_configmaps(api), name="c", namespace="default")
    (asked,) = hook.asked
    assert asked["object"] is None
    assert asked["oldObject"]["data"] == {"a": "1"}


async def test_webhook_configurations_are_never_asked_about(
    api: Api, hook: Hook, register: Register
) -> None:
    everything = {key: ["*"] for key in ("operations", "apiGroups", "apiVersions", "resources")}
    await register(rules=[everything])
    await register(rules=[everything])
    assert hook.asked == []


async def test_a_namespace_is_selected_by_its_own_labels(
    api: Api, hook: Hook, register: Register
) -> None:
    rule = {**RULE, "resources": ["namespaces"]}
    await register(rules=[rule], namespaceSelector={"matchLabels": {"team": "a"}})
    await api.create(NAMESPACES, {"metadata": {"name": "one", "labels": {"team": "a"}}})
    await api.create(NAMESPACES, {"metadata": {"name": "two"}})
    assert [asked["name"] for asked in hook.asked] == ["one"]


async def test_a_service_is_reached_over_tls_under_its_own_name(
    api: Api, server: EmbeddedServer, hook: Hook, register: Register, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path, "admission.volcano-system.svc")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    app = web.Application()
    app.router.add_post("/pods/mutate", hook.handle)
    service = {"namespace": "volcano-system", "name": "admission", "path": "/pods/mutate"}
    bundle = base64.b64encode(certificate.read_bytes()).decode()
    rule = {**RULE, "resources": ["pods"]}
    await register("Mutating", clientConfig={"service": service, "caBundle": bundle}, rules=[rule])
    hook.patches({"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    tls = TestServer(app, scheme="https")
    await tls.start_server(ssl=context)
    try:
        server.proxy.register_service(
            "volcano-system", "admission", port=443, base_url=f"https://127.0.0.1:{tls.port}"
        )
        made = await api.create(PODS, pod, namespace="default")
    finally:
        await tls.close()
    assert made["metadata"]["labels"] == {"seen": "yes"}
