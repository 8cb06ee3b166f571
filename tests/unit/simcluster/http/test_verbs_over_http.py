"""The verbs over HTTP."""

import io
import logging
from typing import Any, cast

import aiohttp
import msgspec
import pytest

from vc.model.api.struct import JsonObject
from vc.simcluster.store.store import Store
from vc.simcluster.verbs.api import Api

_CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
_JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
_PARTIAL = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}


def _config(name: str, **data: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "x"}},
        "data": data,
    }


async def _post(http: aiohttp.ClientSession, path: str, body: Any, **more: Any) -> JsonObject:
    async with http.post(path, json=body, **more) as answer:
        found: JsonObject = await answer.json()
        return found


async def _get(http: aiohttp.ClientSession, path: str, **more: Any) -> JsonObject:
    async with http.get(path, **more) as answer:
        found: JsonObject = await answer.json()
        return found


async def test_an_object_lives_and_ends(http: aiohttp.ClientSession) -> None:
    made = await _post(http, _CONFIGMAPS, _config("c", a="1"))
    made["data"] = {"a": "2"}
    async with http.put(f"{_CONFIGMAPS}/c", json=made) as answer:
        assert (await answer.json())["data"] == {"a": "2"}
    async with http.put(f"{_CONFIGMAPS}/c", json=made) as answer:
        assert (answer.status, (await answer.json())["reason"]) == (409, "Conflict")
    async with http.patch(
        f"{_CONFIGMAPS}/c",
        json={"data": {"b": "3"}},
        headers={"Content-Type": "application/merge-patch+json"},
    ) as answer:
        assert (await answer.json())["data"] == {"a": "2", "b": "3"}
    async with http.delete(f"{_CONFIGMAPS}/c") as answer:
        gone = await answer.json()
    assert (gone["status"], gone["details"]["uid"]) == ("Success", made["metadata"]["uid"])
    missing = await _get(http, f"{_CONFIGMAPS}/c")
    assert missing["message"] == 'configmaps "c" not found'
    assert missing["details"] == {"name": "c", "kind": "configmaps"}


async def test_a_list_comes_in_pages(http: aiohttp.ClientSession) -> None:
    for number in range(3):
        await _post(http, _CONFIGMAPS, _config(f"c{number}"))
    first = await _get(http, _CONFIGMAPS, params={"limit": 2})
    assert first["kind"] == "ConfigMapList"
    assert first["metadata"]["remainingItemCount"] == 1
    token = first["metadata"]["continue"]
    rest = await _get(http, _CONFIGMAPS, params={"limit": 2, "continue": token})
    names = [item["metadata"]["name"] for item in first["items"] + rest["items"]]
    assert names == ["c0", "c1", "c2"]


async def test_a_list_can_be_a_table_or_metadata_only(http: aiohttp.ClientSession) -> None:
    await _post(http, _CONFIGMAPS, _config("c", a="1", b="2"))
    table = await _get(http, _CONFIGMAPS, headers=_TABLE)
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["c", 2]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    bare = await _get(http, _CONFIGMAPS, headers=_TABLE, params={"includeObject": "None"})
    assert "object" not in bare["rows"][0]
    full = await _get(http, _CONFIGMAPS, headers=_TABLE, params={"includeObject": "Object"})
    assert full["rows"][0]["object"]["data"] == {"a": "1", "b": "2"}
    partial = await _get(http, _CONFIGMAPS, headers=_PARTIAL)
    assert partial["kind"] == "PartialObjectMetadataList"
    assert set(partial["items"][0]) == {"kind", "apiVersion", "metadata"}


async def test_a_custom_table_has_our_columns(http: aiohttp.ClientSession) -> None:
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    await _post(http, _JOBS, {**job, "spec": {"tasks": [{"name": "t", "replicas": 1}]}})
    table = await _get(http, f"{_JOBS}/j", headers=_TABLE)
    names = [(c["name"], c["priority"]) for c in table["columnDefinitions"]]
    assert names == [
        ("Name", 0), ("STATUS", 0), ("minAvailable", 0), ("RUNNINGS", 0), ("AGE", 0), ("QUEUE", 1),
    ]  # fmt: skip
    cells = table["rows"][0]["cells"]
    assert cells[:4] == ["j", None, None, None]
    assert cells[5] == "default"


async def test_yaml_is_taken(http: aiohttp.ClientSession) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {day: '2026-01-01'}\n"
    async with http.post(
        _CONFIGMAPS, data=text, headers={"Content-Type": "application/yaml"}
    ) as answer:
        assert (answer.status, (await answer.json())["data"]) == (201, {"day": "2026-01-01"})


@pytest.mark.parametrize(
    ("body", "content_type", "status", "word"),
    [
        (b'{"a":', "application/json", 400, "not JSON"),
        (b"[1]", "application/json", 400, "must be an object"),
        (b"a: b: c", "application/yaml", 400, "not YAML"),
        (b'{"kind":"Pod","apiVersion":"v1"}', "application/json", 400, "must be of type ConfigMap"),
        (b'{"kind":"ConfigMap","apiVersion":"v2"}', "application/json", 400, "does not match"),
        (b"x", "text/plain", 415, "unknown format"),
        (b"k8s\x00", "application/vnd.kubernetes.protobuf", 415, "are not read here"),
        (b"x" * (4 * 1024 * 1024), "application/json", 413, "limit is 3145728"),
    ],
    ids=["json", "array", "yaml", "kind", "version", "type", "protobuf", "size"],
)
async def test_what_cannot_be_read_is_refused_with_a_sentence(
    http: aiohttp.ClientSession, body: bytes, content_type: str, status: int, word: str
) -> None:
    async with http.post(
        _CONFIGMAPS, data=io.BytesIO(body), headers={"Content-Type": content_type}
    ) as answer:
        said = await answer.json()
    assert (answer.status, said["kind"], said["status"]) == (status, "Status", "Failure")
    assert word in said["message"]
    assert (await _get(http, _CONFIGMAPS))["items"] == []


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("GET", "/api/v1/nothing", 404, "NotFound"),
        ("GET", "/apis/no.such.group/v1/things", 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default/nodes", 404, "NotFound"),
        ("GET", "/api/v1/pods/p", 404, "NotFound"),
        ("GET", "/somewhere/else", 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default/pods/p/exec", 404, "NotFound"),
        ("POST", f"{_CONFIGMAPS}/c", 405, "MethodNotAllowed"),
        ("PUT", _CONFIGMAPS, 405, "MethodNotAllowed"),
        ("GET", f"{_CONFIGMAPS}?limit=many", 400, "BadRequest"),
        ("GET", f"{_CONFIGMAPS}?labelSelector=a%20in%20(", 400, "BadRequest"),
        ("GET", f"{_CONFIGMAPS}?continue=rubbish", 400, "BadRequest"),
    ],
)
async def test_a_wrong_request_is_a_status(
    http: aiohttp.ClientSession, method: str, path: str, status: int, reason: str
) -> None:
    async with http.request(method, path) as answer:
        said = await answer.json()
    assert (answer.status, said["reason"], said["code"]) == (status, reason, status)


async def test_unknown_fields_are_refused_told_or_ignored(http: aiohttp.ClientSession) -> None:
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"generateName": "j", "colour": "red"},
        "spec": {"foo": 1, "tasks": [{"template": {"spec": {"any": 1}}, "plugins": 2}]},
    }
    paths = ["metadata.colour", "spec.foo", "spec.tasks[0].plugins"]
    async with http.post(_JOBS, json=job, params={"fieldValidation": "Strict"}) as answer:
        said = (await answer.json())["message"]
    assert all(f'unknown field "{path}"' in said for path in paths)
    async with http.post(_JOBS, json=job) as answer:
        assert answer.status == 201
        assert answer.headers.getall("Warning") == [
            f'299 - "unknown field \\"{path}\\""' for path in paths
        ]
    async with http.post(_JOBS, json=job, params={"fieldValidation": "Ignore"}) as answer:
        assert "Warning" not in answer.headers


async def test_a_dry_run_changes_nothing(http: aiohttp.ClientSession) -> None:
    params = {"dryRun": "All"}
    assert (await _post(http, _CONFIGMAPS, _config("c"), params=params))["metadata"]["uid"]
    assert (await _get(http, _CONFIGMAPS))["items"] == []
    await _post(http, _CONFIGMAPS, _config("c"))
    async with http.delete(f"{_CONFIGMAPS}/c", json={"dryRun": ["All"]}) as answer:
        assert answer.status == 200
    assert len((await _get(http, _CONFIGMAPS))["items"]) == 1
    wrong = await _post(http, _CONFIGMAPS, _config("d"), params={"dryRun": "Some"})
    assert wrong["code"] == 400


async def test_a_collection_is_deleted_by_label(http: aiohttp.ClientSession) -> None:
    await _post(http, _CONFIGMAPS, _config("c"))
    async with http.delete(_CONFIGMAPS, params={"labelSelector": "app=y"}) as answer:
        assert (await answer.json())["items"] == []
    async with http.delete(_CONFIGMAPS, params={"labelSelector": "app=x"}) as answer:
        assert [item["metadata"]["name"] for item in (await answer.json())["items"]] == ["c"]


async def test_replicas_are_scaled(http: aiohttp.ClientSession) -> None:
    labels = {"app": "w"}
    container = {"name": "c", "image": "i"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    path = "/apis/apps/v1/namespaces/default/deployments"
    await _post(http, path, deployment)
    async with http.patch(
        f"{path}/d/scale",
        json={"spec": {"replicas": 3}},
        headers={"Content-Type": "application/merge-patch+json"},
    ) as answer:
        assert (await answer.json())["spec"] == {"replicas": 3}
    scale = await _get(http, f"{path}/d/scale")
    assert (scale["kind"], scale["status"]["selector"]) == ("Scale", "app=w")


async def test_reviews_allow_everything(http: aiohttp.ClientSession) -> None:
    group = "/apis/authorization.k8s.io/v1"
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    answer = await _post(http, f"{group}/selfsubjectaccessreviews", {**kind, "spec": {}})
    assert answer["status"]["allowed"] is True
    assert (await _post(http, f"{group}/riddles", kind))["code"] == 404


async def test_a_fault_of_ours_is_a_status_and_is_logged(
    http: aiohttp.ClientSession, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    api.store = cast("Store", None)  # broken on purpose
    with caplog.at_level(logging.ERROR):
        said = await _get(http, _CONFIGMAPS)
    assert (said["reason"], said["code"]) == ("InternalError", 500)
    assert "failed" in caplog.text


async def test_the_fixed_paths_answer(http: aiohttp.ClientSession) -> None:
    assert (await _get(http, "/version"))["minor"] == "35"
    for path in ("/healthz", "/livez", "/readyz"):
        async with http.get(path) as answer:
            assert await answer.text() == "ok"
    assert (await _get(http, "/api"))["kind"] == "APIVersions"
    assert (await _get(http, "/apis/"))["kind"] == "APIGroupList"
    assert (await _get(http, "/apis/batch.volcano.sh"))["kind"] == "APIGroup"
    assert (await _get(http, "/apis/batch.volcano.sh/v1alpha1"))["kind"] == "APIResourceList"
    assert (await _get(http, "/apis/no.group"))["code"] == 404
    paths = (await _get(http, "/openapi/v3"))["paths"]
    document = await _get(http, paths["apis/batch.volcano.sh/v1alpha1"]["serverRelativeURL"])
    assert document["openapi"] == "3.0.0"
    assert (await _get(http, "/openapi/v3/apis/no.group/v1"))["code"] == 404
    header = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    async with http.get("/apis", headers=header) as answer:
        assert answer.headers["Content-Type"] == header["Accept"]
        assert msgspec.json.decode(await answer.read())["kind"] == "APIGroupDiscoveryList"
