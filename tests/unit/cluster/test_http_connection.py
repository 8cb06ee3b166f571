"""The HTTP connection: deadlines, limits, repeated reads with backoff, and tokens that expire."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from tests.unit.cluster.scripted_server import (
    Answer,
    ScriptedServer,
    after,
    connected,
    hangs_up,
    refuses,
    says,
)
from vc.cluster import ConflictError, NotFoundError, ServerError, TooManyRequestsError
from vc.cluster.errors import UnauthorizedError
from vc.cluster.kubernetes_http import READ_ATTEMPTS_MAX, Limits
from vc.model.api.kinds import CONFIGMAPS, LEASES, PODS
from vc.runtime.leading.election import REQUEST_SECONDS_MAX

BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
LEASE = {"metadata": {"name": "l", "resourceVersion": "1"}}
BUSY = refuses(429, "TooManyRequests", headers={"Retry-After": "0.01"})
FAULTS: dict[str, Answer] = {
    "busy": BUSY,
    "broken": refuses(500, "InternalError"),
    "going down": refuses(503, "ServiceUnavailable"),
    "cut off": hangs_up,
    "half an answer": says(b'{"metadata"'),
}
QUICK = Limits(write_seconds_max=0.2, get_seconds_max=0.2, list_seconds_max=0.2)


def test_a_write_is_over_before_a_lease_can_pass() -> None:
    assert Limits().write_seconds_max <= REQUEST_SECONDS_MAX


@pytest.mark.parametrize("fault", ["busy", "broken", "going down", "cut off"])
async def test_a_read_is_repeated(server: ScriptedServer, tmp_path: Path, fault: str) -> None:
    server.then(FAULTS[fault], FAULTS[fault], says(BODY))
    async with connected(server, tmp_path) as cluster:
        got = await cluster.get(CONFIGMAPS, name="a", namespace="n")
        assert got["metadata"]["name"] == "a"
        assert cluster.requests["get", "configmaps"] == 3


async def test_readers_that_a_busy_server_sent_away_come_back_no_sooner_and_not_together(
    server: ScriptedServer, tmp_path: Path
) -> None:
    readers, requested_seconds = 20, 0.2
    busy = refuses(429, "TooManyRequests", headers={"Retry-After": str(requested_seconds)})
    came: list[float] = []

    async def notes(request: web.Request) -> web.StreamResponse:
        came.append(asyncio.get_running_loop().time())
        return await (busy if len(came) <= readers else says(BODY))(request)

    server.then(notes)
    async with connected(server, tmp_path) as cluster:
        await asyncio.gather(*(cluster.get(PODS, name="a", namespace="n") for _ in range(readers)))
    first, again = came[:readers], came[readers:]
    assert len(again) == readers
    assert min(again) >= min(first) + requested_seconds
    assert max(again) - min(again) > requested_seconds / 8


async def test_a_read_is_repeated_only_so_often(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(refuses(500, "InternalError"))
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(ServerError):
            await cluster.list(PODS)
    assert len(server.seen) == READ_ATTEMPTS_MAX


async def test_a_refusal_is_not_asked_for_twice(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(refuses(404, "NotFound"))
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(NotFoundError):
            await cluster.get(PODS, name="a", namespace="n")
    assert len(server.seen) == 1


@pytest.mark.parametrize("verb", ["create", "replace", "patch", "delete"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_write_is_sent_once(
    server: ScriptedServer, tmp_path: Path, fault: str, verb: str
) -> None:
    server.then(says(BODY), FAULTS[fault], says(BODY))
    async with connected(server, tmp_path) as cluster:
        await cluster.get(CONFIGMAPS, name="a", namespace="n")  # so that a connection is reused
        writes: dict[str, Callable[[], Awaitable[object]]] = {
            "create": lambda: cluster.create(CONFIGMAPS, BODY, namespace="n"),
            "replace": lambda: cluster.replace(CONFIGMAPS, BODY, namespace="n"),
            "patch": lambda: cluster.patch(CONFIGMAPS, {}, name="a", namespace="n"),
            "delete": lambda: cluster.delete(CONFIGMAPS, name="a", namespace="n"),
        }
        with pytest.raises((ServerError, TooManyRequestsError)):
            await writes[verb]()
        assert cluster.requests[verb, "configmaps"] == 1
    assert len(server.seen) == 2


@pytest.mark.parametrize("verb", ["get", "list", "create"])
async def test_a_slow_server_is_waited_for_only_so_long(
    server: ScriptedServer, tmp_path: Path, verb: str
) -> None:
    server.then(after(5, says(BODY)))
    async with connected(server, tmp_path, limits=QUICK) as cluster:
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "get": lambda: cluster.get(PODS, name="a", namespace="n"),
            "list": lambda: cluster.list(PODS),
            "create": lambda: cluster.create(PODS, BODY, namespace="n"),
        }
        started = asyncio.get_running_loop().time()
        with pytest.raises(ServerError, match=r"within 0\.2 s"):
            await calls[verb]()
        assert asyncio.get_running_loop().time() - started < 2


async def test_a_slow_body_is_waited_for_only_so_long(
    server: ScriptedServer, tmp_path: Path
) -> None:
    async def drips(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    server.then(drips)
    async with connected(server, tmp_path, limits=QUICK) as cluster:
        with pytest.raises(ServerError, match=r"within 0\.2 s"):
            await cluster.list(PODS)


async def test_waiting_for_a_slot_counts(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(after(1.0, says(BODY)))
    limits = Limits(requests_max=1, write_seconds_max=1.6)
    async with connected(server, tmp_path, limits=limits) as cluster:
        outcomes = await asyncio.gather(
            *(cluster.create(CONFIGMAPS, BODY, namespace="n") for _ in range(3)),
            return_exceptions=True,
        )
    assert [isinstance(outcome, ServerError) for outcome in outcomes] == [False, True, True]


async def test_no_more_requests_at_a_time_than_allowed(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.then(after(0.01, says(BODY)))
    async with connected(server, tmp_path, limits=Limits(requests_max=4)) as cluster:
        await asyncio.gather(*(cluster.get(PODS, name="a", namespace="n") for _ in range(40)))
    assert len(server.seen) == 40
    assert server.open_most == 4


async def test_a_renewal_waits_behind_no_other_request(
    server: ScriptedServer, tmp_path: Path
) -> None:
    """Neither for a slot nor for a socket: it has a connection of its own."""
    sockets: dict[str, set[object]] = {"leases": set(), "pods": set()}
    both_slots_taken, renewed = asyncio.Event(), asyncio.Event()

    async def answers(request: web.Request) -> web.StreamResponse:
        kind = "leases" if "/leases/" in request.path else "pods"
        sockets[kind].add(request.transport)
        if kind == "pods":
            if len(sockets[kind]) == 2:
                both_slots_taken.set()
            await renewed.wait()
        return await says(BODY)(request)

    server.then(answers)
    limits = Limits(requests_max=2, get_seconds_max=10.0)
    async with connected(server, tmp_path, limits=limits) as cluster:
        reads = [asyncio.create_task(cluster.get(PODS, name="a", namespace="n")) for _ in range(6)]
        await both_slots_taken.wait()
        for _ in range(3):  # answered while no read is: a renewal behind them would wait for ever
            await cluster.replace(LEASES, LEASE, namespace="n")
        assert not any(read.done() for read in reads)
        renewed.set()
        await asyncio.gather(*reads)
        assert cluster.requests["replace", "leases"] == 3
    assert len(sockets["leases"]) == 1
    assert not sockets["leases"] & sockets["pods"]


async def test_a_refused_token_is_renewed_once(server: ScriptedServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def checks(request: web.Request) -> web.StreamResponse:
        token.write_text("new")
        known = request.headers["Authorization"] == "Bearer new"
        return await (says(BODY) if known else refuses(401, "Unauthorized"))(request)

    server.then(checks)
    async with connected(server, tmp_path, user={"tokenFile": "token"}) as cluster:
        await cluster.create(CONFIGMAPS, BODY, namespace="n")
        await cluster.get(CONFIGMAPS, name="a", namespace="n")
    assert [request.headers["Authorization"] for request in server.seen] == [
        "Bearer old",
        "Bearer new",
        "Bearer new",
    ]


async def test_a_token_that_stays_refused_is_an_error(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.then(refuses(401, "Unauthorized"))
    async with connected(server, tmp_path, user={"token": "t"}) as cluster:
        with pytest.raises(UnauthorizedError):
            await cluster.get(CONFIGMAPS, name="a", namespace="n")
    assert len(server.seen) == 1


async def test_a_token_goes_nowhere_else(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(says(code=307, headers={"Location": f"{server.url}/elsewhere"}), says(BODY))
    async with connected(server, tmp_path, user={"token": "t"}) as cluster:
        with pytest.raises(ServerError):
            await cluster.create(CONFIGMAPS, BODY, namespace="n")
    assert len(server.seen) == 1


async def test_who_we_are_and_what_we_promise(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(says(BODY))
    async with connected(server, tmp_path) as cluster:
        await cluster.patch(CONFIGMAPS, {"data": {}}, name="a", namespace="n")
    request = server.seen[0]
    assert request.headers["User-Agent"] == "pyroclast/unit"
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert request.query["timeout"] == "5s"


async def test_an_eviction_of_another_pod_is_not_sent_again(
    server: ScriptedServer, tmp_path: Path
) -> None:
    """A real API server tries for ten seconds before it says that the uid is another."""
    server.then(after(5, says()), says({"metadata": {"uid": "new"}}))
    async with connected(server, tmp_path, limits=Limits(write_seconds_max=0.2)) as cluster:
        with pytest.raises(ConflictError, match="its uid is new, not old"):
            await cluster.evict(namespace="n", name="a", uid="old")


async def test_a_refused_connection_is_a_temporary_error(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.url = "http://127.0.0.1:1"
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(ServerError, match="ClientConnectorError") as caught:
            await cluster.create(CONFIGMAPS, BODY, namespace="n")
        assert caught.value.temporary


async def test_a_closed_connection_says_so(server: ScriptedServer, tmp_path: Path) -> None:
    async with connected(server, tmp_path) as cluster:
        await cluster.close()
        with pytest.raises(ServerError, match="was closed"):
            await cluster.create(CONFIGMAPS, BODY, namespace="n")
