"""The service proxy."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from vc.cluster.errors import NotFoundError
from vc.simcluster.http.proxy import split_service
from vc.simcluster.server import EmbeddedServer

_BASE = "/api/v1/namespaces/volcano-system/services"


async def _echo(request: web.Request) -> web.Response:
    """Says what arrived, with a header of each sort."""
    said = {
        "method": request.method,
        "path": request.rel_url.raw_path,
        "query": request.rel_url.raw_query_string,
        "body": await request.text(),
        "secret": request.headers.get("Authorization", ""),
        "kept": request.headers.get("X-Kept", ""),
    }
    return web.json_response(said, status=203, headers={"X-Answer": "yes", "Keep-Alive": "9"})


@pytest.fixture(autouse=True)
async def _dashboard(server: EmbeddedServer) -> AsyncIterator[None]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", _echo)
    async with TestServer(app) as target:
        url = str(target.make_url("/")).rstrip("/")
        server.proxy.register_service("volcano-system", "dashboard", port=8080, base_url=url)
        yield


@pytest.mark.parametrize("service", ["dashboard", "dashboard:8080", "http:dashboard:8080"])
async def test_a_request_is_passed_on_and_its_answer_back(
    http: aiohttp.ClientSession, service: str
) -> None:
    async with http.post(
        f"{_BASE}/{service}/proxy/api/v1/proxy/a?x=1&y=%26",
        data="hello",
        headers={"Authorization": "Bearer secret", "X-Kept": "kept"},
    ) as answer:
        said = await answer.json()
    assert said == {
        "method": "POST",
        "path": "/api/v1/proxy/a",
        "query": "x=1&y=%26",
        "body": "hello",
        "secret": "",
        "kept": "kept",
    }
    assert (answer.status, answer.headers["X-Answer"]) == (203, "yes")
    assert "Keep-Alive" not in answer.headers


async def test_the_root_of_a_service_is_reached_without_a_path(http: aiohttp.ClientSession) -> None:
    async with http.get(f"{_BASE}/dashboard/proxy") as answer:
        assert (await answer.json())["path"] == "/"


@pytest.mark.parametrize(
    ("service", "status"),
    [("nobody", 404), ("dashboard:9", 503), ("a:b:c:d", 404)],
)
async def test_a_service_that_is_not_there_is_a_status(
    http: aiohttp.ClientSession, service: str, status: int
) -> None:
    async with http.get(f"{_BASE}/{service}/proxy/") as answer:
        assert (answer.status, (await answer.json())["kind"]) == (status, "Status")


async def test_a_service_that_does_not_answer_is_unavailable(
    http: aiohttp.ClientSession, server: EmbeddedServer
) -> None:
    server.proxy.register_service("volcano-system", "gone", port=1, base_url="http://127.0.0.1:9")
    async with http.get(f"{_BASE}/gone/proxy/") as answer:
        said = await answer.json()
    assert (said["reason"], "error trying to reach service" in said["message"]) == (
        "ServiceUnavailable",
        True,
    )


async def test_a_service_can_be_forgotten(
    http: aiohttp.ClientSession, server: EmbeddedServer
) -> None:
    server.proxy.unregister_service("volcano-system", "dashboard")
    server.proxy.unregister_service("volcano-system", "dashboard")
    async with http.get(f"{_BASE}/dashboard/proxy/") as answer:
        assert answer.status == 404


def test_the_name_of_a_service_has_up_to_three_parts() -> None:
    assert split_service("a") == ("", "a", "")
    assert split_service("a:http") == ("", "a", "http")
    assert split_service("https:a") == ("https", "a", "")
    assert split_service("https:a:1") == ("https", "a", "1")
    with pytest.raises(NotFoundError):
        split_service("a:b:c:d")
