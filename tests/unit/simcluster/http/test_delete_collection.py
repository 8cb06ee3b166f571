"""DELETE of a collection: the response is the list of what matched, as this API serves it."""

import aiohttp

from vc.model.api.struct import JsonObject

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CORE_EVENTS = "/api/v1/namespaces/default/events"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


async def create(http: aiohttp.ClientSession, name: str, **labels: str) -> None:
    body = {"metadata": {"name": name, "labels": labels}}
    async with http.post(CONFIGMAPS, json=body) as response:
        assert response.status == 201


async def names(http: aiohttp.ClientSession) -> list[str]:
    async with http.get(CONFIGMAPS) as response:
        return [item["metadata"]["name"] for item in (await response.json())["items"]]


async def delete(http: aiohttp.ClientSession, path: str, **query: str) -> JsonObject:
    async with http.delete(path, params=query) as response:
        assert response.status == 200
        body: JsonObject = await response.json()
        return body


async def test_the_response_is_a_list_with_its_version(http: aiohttp.ClientSession) -> None:
    await create(http, "a", app="web")
    await create(http, "b", app="db")
    async with http.get(CONFIGMAPS) as response:
        version = (await response.json())["metadata"]["resourceVersion"]
    deleted = await delete(http, CONFIGMAPS, labelSelector="app=web")
    assert (deleted["kind"], deleted["apiVersion"]) == ("ConfigMapList", "v1")
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a"]
    assert deleted["metadata"] == {"resourceVersion": version}
    assert await names(http) == ["b"]


async def test_items_have_the_form_of_the_requested_api(http: aiohttp.ClientSession) -> None:
    """Events are stored as core/v1 and must be answered as events.k8s.io/v1."""
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": "hello",
        "reason": "Testing",
        "type": "Normal",
    }
    async with http.post(CORE_EVENTS, json=event) as response:
        assert response.status == 201, await response.text()
    deleted = await delete(http, EVENTS)
    (item,) = deleted["items"]
    assert item["apiVersion"] == "events.k8s.io/v1"
    assert (item["note"], item["regarding"]["name"]) == ("hello", "p")
    assert "involvedObject" not in item
    assert "message" not in item


async def test_a_dry_run_deletes_nothing(http: aiohttp.ClientSession) -> None:
    await create(http, "a")
    deleted = await delete(http, CONFIGMAPS, dryRun="All")
    assert len(deleted["items"]) == 1
    assert await names(http) == ["a"]


async def test_dry_run_may_stand_in_the_delete_options(http: aiohttp.ClientSession) -> None:
    await create(http, "a")
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}
    async with http.delete(CONFIGMAPS, json=options) as response:
        assert response.status == 200
    assert await names(http) == ["a"]


async def test_a_table_may_be_requested(http: aiohttp.ClientSession) -> None:
    await create(http, "a")
    async with http.delete(CONFIGMAPS, headers=TABLE) as response:
        table = await response.json()
    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"][0] == "a"


async def test_other_namespaces_are_not_touched(http: aiohttp.ClientSession) -> None:
    await create(http, "a")
    other = "/api/v1/namespaces/kube-public/configmaps"
    async with http.post(other, json={"metadata": {"name": "b"}}) as response:
        assert response.status == 201
    await delete(http, CONFIGMAPS)
    async with http.get(other) as response:
        assert len((await response.json())["items"]) == 1


async def test_an_empty_collection_is_an_empty_list(http: aiohttp.ClientSession) -> None:
    assert (await delete(http, CONFIGMAPS))["items"] == []


async def test_objects_with_finalizers_stay_until_these_are_removed(
    http: aiohttp.ClientSession,
) -> None:
    body = {"metadata": {"name": "kept", "finalizers": ["example.com/wait"]}}
    async with http.post(CONFIGMAPS, json=body) as response:
        assert response.status == 201
    await delete(http, CONFIGMAPS)
    async with http.get(f"{CONFIGMAPS}/kept") as response:
        assert (await response.json())["metadata"]["deletionTimestamp"]
