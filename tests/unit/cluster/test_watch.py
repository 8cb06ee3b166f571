"""Watches over a network that breaks or stalls, and servers that answer 410 Gone."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from tests.unit.cluster.scripted_server import (
    ScriptedServer,
    connected,
    refuses,
    says,
    streams,
)
from vc.cluster import GoneError, ServerError, WatchEvent
from vc.cluster.errors import ForbiddenError
from vc.cluster.kubernetes import KubernetesCluster
from vc.cluster.kubernetes_http import Limits
from vc.cluster.kubernetes_watch import LINE_BYTES_MAX
from vc.model.api.kinds import PODS

ERROR_GONE = (
    b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}}\n'
)
IMPATIENT = Limits(watch_silence_seconds_max=0.2)


def line(version: int, *, kind: str = "ADDED", padding: int = 0) -> bytes:
    """One event."""
    body = {"metadata": {"name": "a", "resourceVersion": str(version)}, "spec": "x" * padding}
    return msgspec.json.encode({"type": kind, "object": body}) + b"\n"


async def read_all(
    cluster: KubernetesCluster, *, version: str = "1", timeout_seconds: float = 10.0
) -> list[WatchEvent]:
    watch = cluster.watch(PODS, resource_version=version, timeout_seconds=timeout_seconds)
    return [event async for event in watch]


async def test_events_come_as_the_bytes_they_were(server: ScriptedServer, tmp_path: Path) -> None:
    stream = line(2) + line(3, kind="MODIFIED") + line(4, kind="BOOKMARK")
    server.then(streams(stream[:7], stream[7:90], stream[90:]))
    async with connected(server, tmp_path) as cluster:
        events = await read_all(cluster)
    assert [(e.type, e.resource_version) for e in events] == [
        ("ADDED", "2"),
        ("MODIFIED", "3"),
        ("BOOKMARK", "4"),
    ]
    assert events[0].object == b'{"metadata":{"name":"a","resourceVersion":"2"},"spec":""}'


async def test_the_query_asks_for_bookmarks_and_an_end(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.then(streams())
    async with connected(server, tmp_path) as cluster:
        await read_all(cluster, version="7", timeout_seconds=2.5)
    assert dict(server.seen[0].query) == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "3",
    }


async def test_an_event_larger_than_any_buffer(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(streams(line(2, padding=9_000_000) + line(3)))
    async with connected(server, tmp_path) as cluster:
        events = await read_all(cluster)
    assert [e.resource_version for e in events] == ["2", "3"]
    assert len(events[0].object) > 9_000_000


async def test_an_event_without_an_end_is_bounded(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(streams(b"x" * (LINE_BYTES_MAX + 1)))
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(ServerError, match="longer than"):
            await read_all(cluster)


async def test_too_old_as_an_event(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(streams(line(2), ERROR_GONE))
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(GoneError):
            await read_all(cluster)


async def test_too_old_as_an_answer(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(refuses(410, "Expired"))
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(GoneError):
            await read_all(cluster)


async def test_not_allowed(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(refuses(403, "Forbidden"))
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(ForbiddenError):
            await read_all(cluster)


async def test_nonsense_is_the_servers_fault(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(streams(b"<html>\n"))
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(ServerError, match="cannot be read"):
            await read_all(cluster)


async def test_a_cut_is_an_error_and_an_end_is_not(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(streams(line(2), then_silent_seconds=0.05, cut=True), streams(line(3)))
    async with connected(server, tmp_path) as cluster:
        with pytest.raises(ServerError):
            await read_all(cluster)
        assert len(await read_all(cluster)) == 1


async def test_it_ends_at_its_time_whatever_the_server_does(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.then(streams(line(2), then_silent_seconds=5))
    async with connected(server, tmp_path) as cluster:
        started = asyncio.get_running_loop().time()
        assert len(await read_all(cluster, timeout_seconds=0.2)) == 1
        assert asyncio.get_running_loop().time() - started < 2


async def test_a_silent_server_is_noticed(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(
        streams(line(2), then_silent_seconds=5), says({"metadata": {"resourceVersion": "2"}})
    )
    async with connected(server, tmp_path, limits=IMPATIENT) as cluster:
        with pytest.raises(ServerError, match="silent"):
            await read_all(cluster)


async def test_a_server_that_was_set_back_is_a_gap(server: ScriptedServer, tmp_path: Path) -> None:
    """A real one accepts a version of the future, and waits for it in silence."""
    server.then(streams(then_silent_seconds=5), says({"metadata": {"resourceVersion": "41"}}))
    async with connected(server, tmp_path, limits=IMPATIENT) as cluster:
        with pytest.raises(GoneError, match="watched from 1000, but the server is at 41"):
            await read_all(cluster, version="1000")


async def test_whether_it_was_set_back_is_asked_where_we_watch(
    server: ScriptedServer, tmp_path: Path
) -> None:
    """Who may read one namespace may not list the others."""
    server.then(streams(then_silent_seconds=5), says({"metadata": {"resourceVersion": "41"}}))
    async with connected(server, tmp_path, limits=IMPATIENT) as cluster:
        with pytest.raises(GoneError):
            async for _ in cluster.watch(PODS, resource_version="1000", namespace="ours"):
                pass
    assert [seen.path for seen in server.seen] == ["/api/v1/namespaces/ours/pods"] * 2


async def test_closing_the_iterator_ends_the_request(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.then(streams(line(2), then_silent_seconds=60))
    async with connected(server, tmp_path, limits=Limits(watches_max=1)) as cluster:
        async with aclosing(cluster.watch(PODS, resource_version="1")) as watch:
            assert (await anext(watch)).resource_version == "2"
            assert server.open == 1
            with pytest.raises(ServerError, match="more than 1 watches"):
                await read_all(cluster)
        async with asyncio.timeout(5):
            await server.idle.wait()
        async with aclosing(cluster.watch(PODS, resource_version="1")) as watch:
            await anext(watch)


async def test_cancelling_the_reader_ends_the_request(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.then(streams(line(2), then_silent_seconds=60))
    async with connected(server, tmp_path) as cluster:
        reading = asyncio.create_task(read_all(cluster))
        await asyncio.sleep(0.2)
        assert server.open == 1
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        async with asyncio.timeout(5):
            await server.idle.wait()
