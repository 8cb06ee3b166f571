"""The shell: real HTTP over an in-memory bus that a real watcher feeds."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.builders.contexts import memory_cluster
from tests.unit.dashboard.objects import session
from tests.unit.scheduling.objects import gang, node, queue
from tests.unit.scheduling.recording import Recording
from tests.unit.scheduling.world import World
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.dashboard import worker as heavy_module
from vc.dashboard.config import Config
from vc.dashboard.service import DashboardService, build
from vc.dashboard.worker import CLIENT, WAITING_MAX, BusyError, Worker
from vc.messages.sessions import entry_bytes, session_message
from vc.model.api.kinds import CONFIGMAPS, JOBS, NAMESPACES, QUEUES
from vc.runtime.hosting.context import Context
from vc.snapshot.memory import MemorySnapshot
from vc.watcher.config import Config as WatcherConfig
from vc.watcher.service import build as build_watcher

READY_SECONDS_MAX = 15.0


@pytest.fixture
async def service() -> AsyncIterator[DashboardService]:
    clock = LoopClock()
    cluster = memory_cluster(clock)
    bus, snapshot = MemoryBus(clock), MemorySnapshot()

    def context(name: str) -> Context:
        return Context(
            name=name, bus=bus, cluster=cluster, snapshot=snapshot, clock=clock, identity=name
        )

    for kind, body in MANIFESTS:
        await cluster.create(kind, body, namespace="ml" if kind.namespaced else "")
    watcher = build_watcher(context("watcher"), WatcherConfig())
    told = {"PYROCLAST_DASHBOARD_PORT": "0", "SCHEDULER_CONFIGMAP": "second-scheduler-configmap"}
    dashboard = build(context("dashboard"), Config.from_env(told))
    tasks = [asyncio.create_task(each.run()) for each in (watcher, dashboard)]
    async with asyncio.timeout(READY_SECONDS_MAX):
        while dashboard.unready():  # noqa: ASYNC110 - a service has no event to wait for
            await asyncio.sleep(0.01)
    await bus.publish([session_message(session(7))])
    yield dashboard
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def manifest(api_version: str, kind: str, name: str, **spec: Any) -> Any:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


CONTAINER = {"name": "c", "image": "i"}
TASK = {"name": "w", "replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}}
MANIFESTS = (
    (NAMESPACES, manifest("v1", "Namespace", "volcano-system")),
    (NAMESPACES, manifest("v1", "Namespace", "ml")),
    (QUEUES, manifest("scheduling.volcano.sh/v1beta1", "Queue", "training", weight=4)),
    (JOBS, manifest("batch.volcano.sh/v1alpha1", "Job", "train", queue="training", tasks=[TASK])),
)


CONF = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "second-scheduler-configmap"},
    "data": {
        "volcano-scheduler.conf": 'actions: "enqueue, allocate, backfill"\n'
        "tiers:\n- plugins: [{name: priority}, {name: gang}]\n"
        "- plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}]\n"
    },
}


async def test_trials_use_the_configuration_of_the_releases_own_name(
    service: DashboardService,
) -> None:
    await service._context.cluster.create(CONFIGMAPS, CONF, namespace="volcano-system")
    basis = ""
    async with (
        asyncio.timeout(READY_SECONDS_MAX),
        aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client,
    ):
        while basis != "ConfigMap volcano-system/second-scheduler-configmap":
            async with client.get("/api/v1/shares") as answer:
                basis = (await answer.json())["basis"]
            await asyncio.sleep(0.01)


async def test_questions_are_answered_over_http(service: DashboardService) -> None:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client:
        async with client.get("/api/v1/jobs") as answer:
            found = await answer.json()
            assert [row["name"] for row in found["jobs"]] == ["train"]
            assert found["stale"] == ""
        async with client.get("/api/v1/jobs/ml/train") as answer:
            assert (await answer.json())["job"]["queue"] == "training"
        async with client.get("/api/v1/queues") as answer:
            assert (await answer.json())["queues"][0]["weight"] == 4
        async with client.get("/invariants") as answer:
            assert (await answer.json())["holds"] is True
        async with client.get("/openapi.json") as answer:
            assert (await answer.json())["openapi"] == "3.1.0"
        async with asyncio.timeout(READY_SECONDS_MAX):
            while not (await sessions_of(client)):  # noqa: ASYNC110 - comes over the bus
                await asyncio.sleep(0.02)
        assert await sessions_of(client) == ["s7"]


async def test_what_would_be_is_answered_over_http(service: DashboardService) -> None:
    document = manifest("batch.volcano.sh/v1alpha1", "Job", "trial", queue="training", tasks=[TASK])
    async with aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client:
        async with client.post("/api/v1/what-if", json={"documents": [document]}) as answer:
            found = await answer.json()
            assert answer.status == 200, found
            [job] = found["jobs"]
            assert (job["name"], job["runs"]) == ("trial", False), "there are no nodes"
            assert job["reason"]["sentence"]
        async with client.get("/api/v1/jobs/ml/train/explanation") as answer:
            assert (await answer.json())["job"]["name"] == "train"
        for query in ("", "?estimate=true", "?estimate=false"):
            async with client.get(f"/api/v1/queues/training/waiting{query}") as answer:
                assert (await answer.json())["waiting"] == []
        async with client.get("/api/v1/shares") as answer:
            found = await answer.json()
            assert [share["name"] for share in found["queues"]] == ["training"]
            assert found["basis"] == "the default configuration"


async def test_a_recorded_session_is_shown_and_run_again(service: DashboardService) -> None:
    recording = Recording(World(queue(), node("n", cpu=4), gang("g", 2, cpu=1)))
    recording.session()
    recording.session()
    for entry in recording.entries:
        data = entry_bytes(entry)
        await service._context.snapshot.append_session(entry.record.session_id, data)
    session_id = recording.entries[-1].record.session_id
    async with aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client:
        async with client.get(f"/api/v1/sessions/{session_id}") as answer:
            found = await answer.json()
            assert found["replayable"], found["whyNot"]
            assert found["record"]["session_id"] == session_id
            assert found["actions"][:2] == ["enqueue", "allocate"]
        async with client.get(f"/api/v1/sessions/{session_id}/replay") as answer:
            found = await answer.json()
            assert (found["same"], found["nodes"]) == (True, 1)
            assert found["recorded"] == found["replayed"]
        async with client.get("/api/v1/shares") as answer:
            assert (await answer.json())["basis"] == f"the configuration of session {session_id}"
        lost = msgspec.structs.replace(recording.entries[-1], previous="gone")
        await service._context.snapshot.append_session(session_id, entry_bytes(lost))
        async with client.get(f"/api/v1/sessions/{session_id}/replay") as answer:
            assert answer.status == 409
            assert "which has left the ring" in (await answer.json())["error"]
        service._context.snapshot.stop()  # type: ignore[attr-defined]
        async with client.get(f"/api/v1/sessions/{session_id}") as answer:
            assert answer.status == 503


async def test_sessions_say_whether_they_can_still_be_shown(service: DashboardService) -> None:
    recording = Recording(World(queue(), node("n", cpu=4), gang("g", 2, cpu=1)))
    recording.session()
    [entry] = recording.entries
    store, bus = service._context.snapshot, service._context.bus
    await store.append_session(entry.record.session_id, entry_bytes(entry))
    await bus.publish([session_message(entry.record)])
    async with aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client:
        async with asyncio.timeout(READY_SECONDS_MAX):
            while len(await sessions_of(client)) < 2:  # noqa: ASYNC110 - comes over the bus
                await asyncio.sleep(0.02)
        async with client.get("/api/v1/sessions") as answer:
            rows = (await answer.json())["sessions"]
        for row in rows:
            async with client.get(f"/api/v1/sessions/{row['sessionId']}") as answer:
                assert answer.status == (200 if row["kept"] else 404), row
        assert {row["sessionId"]: row["kept"] for row in rows} == {
            "s7": False,
            entry.record.session_id: True,
        }
        store.stop()  # type: ignore[attr-defined]
        async with client.get("/api/v1/sessions") as answer:
            assert [row["kept"] for row in (await answer.json())["sessions"]] == [False, False]


async def test_a_fault_of_ours_is_told_as_json_and_logged(
    service: DashboardService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> Any:
        raise ZeroDivisionError("nobody thought of it")

    monkeypatch.setattr(service, "shares", broken)
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client,
        client.get("/api/v1/queues") as answer,
    ):
        assert answer.status == 500
        assert answer.content_type == "application/json"
        assert (await answer.json())["error"].startswith("this is a fault of the dashboard")
        assert "Content-Security-Policy" in answer.headers
    [line] = [record for record in caplog.records if "cannot be answered" in record.message]
    assert line.message == "GET /api/v1/queues cannot be answered"
    assert line.exc_info is not None
    assert "nobody thought of it" in str(line.exc_info[1])


async def test_too_many_trials_at_once_are_told_to_come_again(service: DashboardService) -> None:
    release = threading.Event()
    held = [asked_by(f"client-{number}", service, release) for number in range(WAITING_MAX + 1)]
    await asyncio.sleep(0.1)
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client,
        client.get("/api/v1/shares") as answer,
    ):
        assert answer.status == 503
        assert "try again" in (await answer.json())["error"]
    release.set()
    assert all(await asyncio.gather(*held))


def asked_by(client: str, service: DashboardService, release: threading.Event) -> Any:
    async def ask() -> bool:
        CLIENT.set(client)
        return await service.worker.run(release.wait, 10)

    return asyncio.create_task(ask())


async def test_nobody_stands_in_line_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy_module, "WAITING_SECONDS_MAX", 0.05)
    heavy, release = Worker(), threading.Event()
    held = asyncio.create_task(heavy.run(release.wait, 10))
    await asyncio.sleep(0)
    with pytest.raises(BusyError, match="try again later"):
        await heavy.run(int)
    release.set()
    assert await held
    assert await heavy.run(int) == 0, "nothing is lost by those who gave up"


async def test_shares_are_not_counted_again_while_nothing_changes(
    service: DashboardService, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await service.shares()
    assert first.basis == "the default configuration"
    monkeypatch.setattr(service, "ground", None)
    assert await service.shares() is first


async def sessions_of(client: aiohttp.ClientSession) -> list[str]:
    async with client.get("/api/v1/sessions?limit=5") as answer:
        return [row["sessionId"] for row in (await answer.json())["sessions"]]


async def test_the_page_lists_jobs_and_lets_nothing_else_in(service: DashboardService) -> None:
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client,
        client.get("/") as answer,
    ):
        text = await answer.text()
        assert "train" in text
        assert "<script" not in text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        async with client.get("/style.css") as style:
            assert style.content_type == "text/css"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/jobs?limit=0", 400),
        ("GET", "/api/v1/usage?to=9999-12-31", 400),
        ("GET", "/api/v1/queues/training/waiting?estimate=perhaps", 400),
        ("GET", "/api/v1/jobs/ml/ghost", 404),
        ("GET", "/api/v1/nothing", 404),
        ("POST", "/api/v1/jobs", 405),
        ("POST", "/api/v1/what-if", 415),
        ("GET", "/api/v1/sessions/9-9", 404),
        ("GET", "/api/v1/sessions/9-9/replay", 404),
        ("GET", "/api/v1/jobs/ml/ghost/explanation", 404),
        ("GET", "/api/v1/queues/ghost/waiting", 404),
        ("DELETE", "/api/v1/jobs/ml/train", 405),
    ],
)
async def test_what_cannot_be_answered_says_why(
    service: DashboardService, method: str, path: str, status: int
) -> None:
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client,
        client.request(method, path) as answer,
    ):
        assert answer.status == status
        assert (await answer.json())["error"]
        assert "Content-Security-Policy" in answer.headers


def test_the_environment_is_read_and_checked() -> None:
    assert Config.from_env({}).port == 8080
    assert Config.from_env({}).scheduler_names == ("volcano",)
    assert Config.from_env({"SCHEDULER_NAMES": "mine, volcano"}).scheduler_names == (
        "mine",
        "volcano",
    )
    assert Config.from_env({"PYROCLAST_DASHBOARD_PORT": "0"}).port == 0
    with pytest.raises(ValueError, match="PYROCLAST_DASHBOARD_PORT"):
        Config.from_env({"PYROCLAST_DASHBOARD_PORT": "http"})
