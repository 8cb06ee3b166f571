"""The description and what is: every route is in it, and every answer is as it says."""

import asyncio
import logging
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.unit.dashboard.cluster import full
from tests.unit.dashboard.cluster import manifest as manifest_of
from tests.unit.dashboard.schemas import faults
from tests.unit.dashboard.test_service import READY_SECONDS_MAX, TASK, manifest, service
from tests.unit.scheduling.objects import gang, node, queue
from tests.unit.scheduling.recording import Recording
from tests.unit.scheduling.world import World
from vc.dashboard.logic.answers.openapi import openapi
from vc.dashboard.logic.explaining import explain, starts_on
from vc.dashboard.server import DashboardServer
from vc.dashboard.service import DashboardService
from vc.messages.sessions import entry_bytes, session_message
from vc.messages.usage import UsageRow, usage_message

__all__ = ["service"]

NOT_DESCRIBED = {"/", "/style.css", "/openapi.json"}
"""For people's eyes, and the description itself."""
DOCUMENT = msgspec.json.decode(msgspec.json.encode(openapi()))
QUESTION = {"documents": [manifest("batch.volcano.sh/v1alpha1", "Job", "trial", tasks=[TASK])]}


def test_every_route_is_described_and_no_other() -> None:
    server = DashboardServer(None, logging.getLogger(__name__))  # type: ignore[arg-type]
    routes = {
        (route.resource.canonical, route.method.lower())
        for route in server.application().router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    described = {(path, method) for path, of in DOCUMENT["paths"].items() for method in of}
    assert {pair for pair in routes if pair[0] not in NOT_DESCRIBED} == described


def test_every_parameter_of_a_path_is_described() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            named = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert all(f"{{{name}}}" in path for name in named)
            assert path.count("{") == len(named), path


async def recorded(dashboard: DashboardService) -> str:
    """A session that is in the ring and was told of, with a job that waits."""
    world = World(queue(), node("n", cpu=4), gang("g", 2, cpu=1), gang("w", 2, cpu=9))
    recording = Recording(world)
    recording.session()
    [entry] = recording.entries
    store, bus = dashboard._context.snapshot, dashboard._context.bus
    await store.append_session(entry.record.session_id, entry_bytes(entry))
    row = UsageRow(queue="q", namespace="ml", job="train", hour=0, held={"cpu": "7"}, closed=True)
    await bus.publish([session_message(entry.record), usage_message(row)])
    async with asyncio.timeout(READY_SECONDS_MAX):
        while not (dashboard.sessions.reasons() and dashboard.usage.rows()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return entry.record.session_id


async def test_every_answer_is_as_described(service: DashboardService) -> None:
    session_id = await recorded(service)
    names = {"{namespace}": "ml", "{name}": "train", "{id}": session_id}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client:
        for path, methods in DOCUMENT["paths"].items():
            for method, operation in methods.items():
                asked = path.replace("queues/{name}", "queues/training")
                for name, value in names.items():
                    asked = asked.replace(name, value)
                body = QUESTION if "requestBody" in operation else None
                async with client.request(method, asked, json=body) as answer:
                    found = await answer.json()
                    assert answer.status == 200, (asked, found)
                wrong = _wrong(operation, "200", found)
                assert wrong == [], f"{method} {asked}"
        async with client.get("/api/v1/jobs?limit=0") as answer:
            operation = DOCUMENT["paths"]["/api/v1/jobs"]["get"]
            assert _wrong(operation, str(answer.status), await answer.json()) == []


def _wrong(operation: Any, status: str, found: Any) -> list[str]:
    schema = operation["responses"][status]["content"]["application/json"]["schema"]
    return list(faults(DOCUMENT, schema, found))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"error": 7}, "$.error: 7 is no string"),
        ({}, "$: error is missing"),
        ({"error": "", "more": 1}, "$: more is not described"),
        ([], "$: [] is no object"),
    ],
)
def test_what_is_not_as_described_is_found(value: Any, said: str) -> None:
    assert list(faults(DOCUMENT, {"$ref": "#/components/schemas/Problem"}, value)) == [said]


def test_answers_about_jobs_that_wait_are_as_described() -> None:
    cluster = full()
    cluster.run(manifest_of("first", 3, estimate="10m"))
    cluster.run(manifest_of("waits", 3))
    explained = explain(cluster.cluster_index(), cluster.reasons, "ml/waits", cluster.ground())
    assert explained is not None
    assert explained.explanation is not None
    assert explained.holders
    starts = starts_on(cluster.cluster_index(), cluster.ground(), lambda: True)
    listed = cluster.waiting("default", starts=starts)
    assert listed.waiting[0].estimate is not None
    for answer in (explained, listed, cluster.ask(manifest_of("more", 9))):
        schema = {"$ref": f"#/components/schemas/{type(answer).__name__}"}
        found = msgspec.json.decode(msgspec.json.encode(answer))
        assert list(faults(DOCUMENT, schema, found)) == []
