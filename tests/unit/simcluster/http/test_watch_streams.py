"""Watches and followed logs over HTTP."""

import asyncio
from typing import Final

import aiohttp
import msgspec

from vc.model.api.struct import JsonObject
from vc.simcluster.http.logs import lines_after
from vc.simcluster.schema.builtin_resources import PODS
from vc.simcluster.server import EmbeddedServer
from vc.simcluster.verbs.api import Api

_PODS: Final = "/api/v1/namespaces/default/pods"
_TABLE: Final = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
_WAIT_SECONDS_MAX: Final = 10.0


def _pod(name: str) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def _line(answer: aiohttp.ClientResponse) -> JsonObject:
    async with asyncio.timeout(_WAIT_SECONDS_MAX):
        found: JsonObject = msgspec.json.decode(await answer.content.readline())
        return found


async def test_a_watch_streams_lines_until_its_time_is_over(
    http: aiohttp.ClientSession, api: Api
) -> None:
    await api.create(PODS, _pod("a"), namespace="default")
    params = {"watch": "true", "timeoutSeconds": "1"}
    async with http.get(_PODS, params=params) as answer:
        first = await _line(answer)
        await api.create(PODS, _pod("b"), namespace="default")
        second = await _line(answer)
        assert await answer.content.read() == b""
    seen = [(event["type"], event["object"]["metadata"]["name"]) for event in (first, second)]
    assert seen == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_of_tables_names_its_columns_once(
    http: aiohttp.ClientSession, api: Api
) -> None:
    await api.create(PODS, _pod("a"), namespace="default")
    await api.create(PODS, _pod("b"), namespace="default")
    async with http.get(_PODS, params={"watch": "1"}, headers=_TABLE) as answer:
        first, second = await _line(answer), await _line(answer)
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] == []
    assert second["object"]["rows"][0]["cells"][0] == "b"


async def test_bookmarks_come_when_they_are_asked_for(
    http: aiohttp.ClientSession, api: Api
) -> None:
    await api.create(PODS, _pod("a"), namespace="default")
    params = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    async with http.get(_PODS, params=params) as answer:
        first, second = await _line(answer), await _line(answer)
    assert (first["type"], second["type"]) == ("ADDED", "BOOKMARK")
    notes = second["object"]["metadata"]["annotations"]
    assert notes == {"k8s.io/initial-events-end": "true"}


async def test_a_version_that_is_too_old_is_an_error_event(
    http: aiohttp.ClientSession, api: Api
) -> None:
    for name in ("a", "b"):
        await api.create(PODS, _pod(name), namespace="default")
    api.compact()
    async with http.get(_PODS, params={"watch": "true", "resourceVersion": "1"}) as answer:
        event = await _line(answer)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_a_watch_that_makes_no_sense_is_refused_at_once(http: aiohttp.ClientSession) -> None:
    for wrong in (
        {"labelSelector": "a in ("},
        {"resourceVersion": "new"},
        {"fieldSelector": "x=y"},
    ):
        async with http.get(_PODS, params={"watch": "true", **wrong}) as answer:
            assert answer.status == 400


async def test_a_version_of_thousands_of_digits_is_refused(http: aiohttp.ClientSession) -> None:
    params = {"watch": "true", "resourceVersion": "9" * 5000}
    async with http.get(_PODS, params=params) as answer:
        assert answer.status == 400
        assert "must be a number" in (await answer.json())["message"]


async def test_a_client_that_goes_leaves_nothing_behind(
    http: aiohttp.ClientSession, server: EmbeddedServer, api: Api
) -> None:
    await api.create(PODS, _pod("a"), namespace="default")
    answer = await http.get(_PODS, params={"watch": "true"})
    await _line(answer)
    assert len(server._http_api._open) == 1
    answer.close()
    async with asyncio.timeout(_WAIT_SECONDS_MAX):
        while server._http_api._open:  # noqa: ASYNC110  the server has no event for it
            await asyncio.sleep(0.01)


async def test_closing_the_server_ends_watches_at_once(
    http: aiohttp.ClientSession, server: EmbeddedServer, api: Api
) -> None:
    await api.create(PODS, _pod("a"), namespace="default")
    async with http.get(_PODS, params={"watch": "true"}) as answer:
        await _line(answer)
        async with asyncio.timeout(1.0):
            await server.close()


async def test_a_followed_log_ends_with_its_pod(http: aiohttp.ClientSession, api: Api) -> None:
    pod = await api.create(PODS, _pod("a"), namespace="default")
    uid = pod["metadata"]["uid"]
    await _set_status(api, phase="Running", containerStatuses=[{"name": "c", "ready": True}])
    api.pod_logs.write(uid, "c", "one")
    api.pod_logs.write(uid, "c", "two")
    async with http.get(f"{_PODS}/a/log", params={"tailLines": "1"}) as answer:
        assert await answer.text() == "two\n"
    async with http.get(f"{_PODS}/a/log", params={"follow": "true"}) as answer:
        assert await answer.content.readline() == b"one\n"
        api.pod_logs.write(uid, "c", "three")
        await _set_status(api, phase="Succeeded")
        async with asyncio.timeout(_WAIT_SECONDS_MAX):
            assert await answer.content.read() == b"two\nthree\n"


async def _set_status(api: Api, **status: object) -> None:
    await api.patch(
        PODS,
        {"status": status},
        content_type="application/merge-patch+json",
        name="a",
        namespace="default",
        subresource="status",
    )


def test_what_follows_is_found_even_when_the_first_lines_are_forgotten() -> None:
    assert lines_after([], ["a"]) == ["a"]
    assert lines_after(["a", "b"], ["a", "b", "c"]) == ["c"]
    assert lines_after(["a", "b", "c"], ["b", "c", "d"]) == ["d"]
    assert lines_after(["a", "b"], ["x"]) == ["x"]
    assert lines_after(["a", "b"], ["a", "b"]) == []
