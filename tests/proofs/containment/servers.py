"""Boundaries that answer HTTP: the embedded API server and the dashboard. No answer is a 500, and each comes soon.

Both run once a process, in a loop of their own.
"""

import asyncio
import atexit
import functools
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import msgspec

from tests.builders.contexts import memory_cluster, our_registry
from tests.proofs.containment.inputs import ODD_TEXTS, flipped, manifest_of, mutated, odd_value
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.dashboard.config import Config
from vc.dashboard.service import DashboardService, build
from vc.model.api import kinds
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject
from vc.runtime.hosting.context import Context
from vc.simcluster.server import serve
from vc.simcluster.verbs.api import Api
from vc.snapshot.memory import MemorySnapshot
from vc.watcher.config import Config as WatcherConfig
from vc.watcher.service import build as build_watcher

ANSWER_SECONDS_MAX: Final = 10.0
READY_SECONDS_MAX: Final = 60.0
WRITTEN: Final = (
    kinds.JOBS, kinds.PODS, kinds.QUEUES, kinds.PODGROUPS, kinds.NODES, kinds.CONFIGMAPS,
    kinds.NAMESPACES, kinds.PRIORITYCLASSES, kinds.REPLICASETS, kinds.CLAIMS, kinds.BUDGETS,
    kinds.COMMANDS, kinds.EVENTS, kinds.SERVICES, kinds.LEASES, kinds.QUOTAS,
)  # fmt: skip
PATCHES: Final = (
    "application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json", "application/apply-patch+yaml",
)  # fmt: skip
QUERIES: Final = (
    "labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "timeoutSeconds",
    "fieldManager", "force", "dryRun", "gracePeriodSeconds", "propagationPolicy",
    "resourceVersionMatch", "fieldValidation", "tailLines", "sinceTime", "container",
)  # fmt: skip
SUBRESOURCES: Final = ("", "", "", "/status", "/binding", "/eviction", "/scale", "/log", "/odd")
ACCEPTED: Final = (
    "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "*/*",
    "application/vnd.kubernetes.protobuf", "text/html", "odd;;;",
)  # fmt: skip


def ask_api_server(rng: random.Random, count: int) -> int:
    """Requests of every verb to the embedded API server."""
    stage = _stage()
    return stage.runner.run(_ask(stage, stage.api_url, [_api_request(rng) for _ in range(count)]))


def ask_dashboard(rng: random.Random, count: int) -> int:
    """Questions to the dashboard."""
    stage = _stage()
    asked = [_dashboard_request(rng) for _ in range(count)]
    return stage.runner.run(_ask(stage, stage.dashboard_url, asked))


class _Stage:
    """The servers of this process."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.exit = AsyncExitStack()
        self.api_url = self.dashboard_url = ""
        self.runner.run(self._start())
        atexit.register(self._stop)

    async def _start(self) -> None:
        server = await serve(Api(clock=LoopClock(), registry=our_registry()))
        self.exit.push_async_callback(server.close)
        self.api_url = server.url
        dashboard = await self.exit.enter_async_context(_dashboard())
        self.dashboard_url = f"http://127.0.0.1:{dashboard.port}"
        self.session = await self.exit.enter_async_context(aiohttp.ClientSession())

    def _stop(self) -> None:
        self.runner.run(self.exit.aclose())
        self.runner.close()


@functools.cache
def _stage() -> _Stage:
    return _Stage()


@asynccontextmanager
async def _dashboard() -> AsyncIterator[DashboardService]:
    """With a watcher that feeds it a queue and a job."""
    clock = LoopClock()
    cluster, bus, snapshot = memory_cluster(clock), MemoryBus(clock), MemorySnapshot()

    def context(name: str) -> Context:
        return Context(
            name=name, bus=bus, cluster=cluster, snapshot=snapshot, clock=clock, identity=name
        )

    for name in ("volcano-system", "ml"):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await cluster.create(kinds.NAMESPACES, body)
    for kind, namespace in ((kinds.QUEUES, ""), (kinds.JOBS, "ml")):
        sound = manifest_of(kind)
        sound["metadata"] = {"name": "odd"}
        await cluster.create(kind, sound, namespace=namespace)
    told = {"PYROCLAST_DASHBOARD_PORT": "0"}
    dashboard = build(context("dashboard"), Config.from_env(told))
    watcher = build_watcher(context("watcher"), WatcherConfig())
    tasks = [asyncio.create_task(each.run()) for each in (watcher, dashboard)]
    async with asyncio.timeout(READY_SECONDS_MAX):
        while dashboard.unready():  # noqa: ASYNC110 - a service has no event to wait for
            await asyncio.sleep(0.01)
    try:
        yield dashboard
    finally:
        for task in tasks:
            task.cancel()


class _Request(msgspec.Struct):
    method: str
    path: str
    body: bytes | None = None
    headers: dict[str, str] = {}


async def _ask(stage: _Stage, url: str, requests: list[_Request]) -> int:
    for request in requests:
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS_MAX),
                stage.session.request(
                    request.method, url + request.path, data=request.body, headers=request.headers
                ) as response,
            ):
                said = await response.read()
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            continue  # aiohttp itself cut a request off that is no HTTP
        assert response.status != 500, f"{request.method} {request.path[:200]}: {said[:300]!r}"
    return len(requests)


def _api_request(rng: random.Random) -> _Request:
    kind = rng.choice(WRITTEN)
    namespace = "default" if kind.namespaced else ""
    name = rng.choice(("odd", "odd", "default", "root", rng.choice(ODD_TEXTS)[:200]))
    verb = rng.choice(("POST", "POST", "POST", "PUT", "PATCH", "DELETE", "GET", "GET"))
    one = verb != "POST" and rng.random() < 0.8
    path = kind.path(namespace, quote(name, safe="") if one else "")
    if one or rng.random() < 0.05:
        path += rng.choice(SUBRESOURCES)
    if rng.random() < 0.05:
        path = "/" + "/".join(
            quote(rng.choice(ODD_TEXTS)[:100], safe="") for _ in range(rng.randrange(6))
        )
    query = [
        f"{rng.choice(QUERIES)}={quote(rng.choice(ODD_TEXTS)[:300])}"
        for _ in range(rng.randrange(3) if rng.random() < 0.5 else 0)
    ]
    headers = {"Accept": rng.choice(ACCEPTED), "Content-Type": "application/json"}
    body: bytes | None = None
    if verb == "PATCH":
        headers["Content-Type"] = rng.choice(PATCHES)
        body = msgspec.json.encode(_patch(rng, kind))
    elif verb != "GET":
        headers["Content-Type"] = rng.choice(
            ("application/json", "application/json", "application/yaml", "text/plain")
        )
        body = msgspec.json.encode(_written(rng, kind))
    if body is not None and rng.random() < 0.15:
        body = flipped(rng, body)
    return _Request(verb, path + ("?" + "&".join(query) if query else ""), body, headers)


def _written(rng: random.Random, kind: Kind) -> JsonObject:
    body = manifest_of(kind)
    body["metadata"] = {
        key: value
        for key, value in body["metadata"].items()
        if key not in ("resourceVersion", "uid", "finalizers", "ownerReferences")
    }
    return mutated(rng, body)


def _patch(rng: random.Random, kind: Kind) -> Any:
    if rng.random() < 0.4:
        where = rng.choice(
            ("/spec", "/metadata/labels/x", "/status", "", "/spec/tasks/0", "/a~2b", "x")
        )
        operation = rng.choice(("add", "remove", "replace", "test", "move", "copy", "odd"))
        return [{"op": operation, "path": where, "from": "/spec", "value": odd_value(rng)}]
    return _written(rng, kind) if rng.random() < 0.7 else odd_value(rng)


def _dashboard_request(rng: random.Random) -> _Request:
    odd = quote(rng.choice(ODD_TEXTS)[:300], safe="")
    path = rng.choice((
        "/", "/invariants", "/api/v1/jobs", f"/api/v1/jobs/ml/{odd}", f"/api/v1/jobs/{odd}/odd",
        f"/api/v1/jobs/ml/{odd}/explanation", "/api/v1/queues", f"/api/v1/queues/{odd}/waiting",
        "/api/v1/sessions", f"/api/v1/sessions/{odd}", f"/api/v1/sessions/{odd}/replay",
        "/api/v1/usage", "/api/v1/what-if", f"/{odd}",
    ))  # fmt: skip
    names = ("limit", "after", "queue", "namespace", "phase", "from", "to", "by", "estimate", "job")
    query = [
        f"{rng.choice(names)}={quote(rng.choice(ODD_TEXTS)[:300])}" for _ in range(rng.randrange(4))
    ]
    path += "?" + "&".join(query) if query else ""
    if not path.startswith("/api/v1/what-if"):
        return _Request(rng.choice(("GET", "GET", "GET", "GET", "POST")), path)
    question: JsonObject = {
        "manifests": [
            mutated(rng, manifest_of(rng.choice((kinds.JOBS, kinds.QUEUES, kinds.NODES))))
        ],
        "addNodes": {"count": 1, "like": "n"},
        "job": "ml/odd",
    }
    body = msgspec.json.encode(mutated(rng, question) if rng.random() < 0.6 else question)
    return _Request("POST", path, body, {"Content-Type": "application/json"})
