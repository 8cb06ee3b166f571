"""What callers see: without a token all or nothing, with one what the API server lets them list."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.builders.contexts import memory_context, our_registry
from tests.unit.dashboard.test_service import READY_SECONDS_MAX, TASK, manifest
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.cluster import ForbiddenError
from vc.dashboard.callers import (
    PROXIED_HEADER,
    RIGHTS_MAX,
    TOKENS_MAX,
    Caller,
    Callers,
    DeniedError,
    Remembered,
)
from vc.dashboard.config import Config
from vc.dashboard.logic.answers.scope import HIDDEN, Scope, redacted
from vc.dashboard.service import DashboardService, build
from vc.model.api.kinds import ACCESS_REVIEWS, JOBS, NAMESPACES, QUEUES, TOKENREVIEWS, Kind
from vc.model.api.struct import JsonObject
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api
from vc.watcher.config import Config as WatcherConfig
from vc.watcher.service import build as build_watcher

RIGHTS: dict[str, set[str]] = {
    "admin": {"jobs/", "queues/"},
    "ann": {"jobs/ml", "queues/"},
    "bob": {"jobs/ml"},
    "eve": set(),
}
"""By user, who is also the token: resource and namespace; none means all of them."""


class ReviewingCluster(StoreCluster):
    """An API server with users."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.reviews: Counter[str] = Counter()
        self.fails = False

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        if kind not in (TOKENREVIEWS, ACCESS_REVIEWS):
            return await super().create(kind, body, namespace=namespace)
        self.reviews[kind.short] += 1
        if self.fails:
            raise ForbiddenError("tokenreviews is forbidden for the dashboard")
        spec = body["spec"]
        if kind is TOKENREVIEWS:
            user = {"username": spec["token"], "groups": ["system:authenticated"]}
            known = spec["token"] in RIGHTS
            return {**body, "status": {"authenticated": known, "user": user if known else {}}}
        asked = spec["resourceAttributes"]
        right = f"{asked['resource']}/{asked['namespace']}"
        rights = RIGHTS[spec["user"]]
        return {**body, "status": {"allowed": right in rights or f"{asked['resource']}/" in rights}}


@asynccontextmanager
async def dashboard(anonymous: str) -> AsyncIterator[tuple[DashboardService, ReviewingCluster]]:
    clock = LoopClock()
    cluster = ReviewingCluster(Api(clock=clock, registry=our_registry()))
    bus = MemoryBus(clock)
    for name in ("volcano-system", "ml", "hidden"):
        await cluster.create(NAMESPACES, manifest("v1", "Namespace", name))
    await cluster.create(QUEUES, manifest("scheduling.volcano.sh/v1beta1", "Queue", "training"))
    for namespace, name in (("ml", "train"), ("hidden", "secret-project")):
        job = manifest("batch.volcano.sh/v1alpha1", "Job", name, queue="training", tasks=[TASK])
        await cluster.create(JOBS, job, namespace=namespace)
    services = {
        name: memory_context(name, clock=clock, bus=bus, cluster=cluster)
        for name in ("watcher", "dashboard")
    }
    told = {"PYROCLAST_DASHBOARD_PORT": "0", "DASHBOARD_ANONYMOUS": anonymous}
    service = build(services["dashboard"], Config.from_env(told))
    watcher = build_watcher(services["watcher"], WatcherConfig())
    tasks = [asyncio.create_task(each.run()) for each in (watcher, service)]
    try:
        async with asyncio.timeout(READY_SECONDS_MAX):
            while service.unready():  # noqa: ASYNC110 - a service has no event to wait for
                await asyncio.sleep(0.01)
        yield service, cluster
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


async def ask(
    service: DashboardService,
    path: str,
    *,
    token: str = "",
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, Any]:
    method = "POST" if body is not None else "GET"
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{service.port}") as client,
        client.request(
            method, path, json=body, headers={**bearer(token), **(headers or {})}
        ) as got,
    ):
        return got.status, await got.json() if got.content_type.endswith(
            "json"
        ) else await got.text()


PATHS = (
    "/api/v1/jobs",
    "/api/v1/jobs/hidden/secret-project",
    "/api/v1/jobs/hidden/secret-project/explanation",
    "/api/v1/jobs/ml/train",
    "/api/v1/jobs/ml/train/explanation",
    "/api/v1/queues",
    "/api/v1/queues/training/waiting",
    "/api/v1/queues/training/waiting?estimate=true",
    "/api/v1/shares",
    "/api/v1/sessions",
    "/api/v1/sessions/1-1",
    "/api/v1/sessions/1-1/replay",
    "/api/v1/usage",
    "/api/v1/usage?namespace=hidden",
    "/invariants",
    "/",
)


async def test_without_a_token_nothing_is_shown_where_tokens_are_wanted() -> None:
    async with dashboard("none") as (service, cluster):
        for path in PATHS:
            status, found = await ask(service, path)
            assert status == 401, path
            assert "wants a token" in found["error"]
        for path in ("/openapi.json", "/style.css"):
            assert (await ask(service, path))[0] == 200
        status, found = await ask(service, "/api/v1/jobs", token="nobody")
        assert (status, "does not know this token" in found["error"]) == (401, True)
        odd = {"Authorization": "Basic YTpi"}
        assert (await ask(service, "/api/v1/jobs", headers=odd))[0] == 401
        cluster.fails = True
        status, found = await ask(service, "/api/v1/jobs", token="ann")
        assert status == 503
        assert "cannot be checked" in found["error"]


async def test_loopback_shows_all_to_callers_without_a_token() -> None:
    async with dashboard("all") as (service, cluster):
        status, found = await ask(service, "/api/v1/jobs")
        assert status == 200
        assert [row["namespace"] for row in found["jobs"]] == ["hidden", "ml"]
        assert cluster.reviews.total() == 0
        status, found = await ask(service, "/api/v1/jobs", token="ann")
        assert [row["namespace"] for row in found["jobs"]] == ["ml"], "a token counts nevertheless"


@pytest.mark.parametrize("anonymous", ["none", "all"])
async def test_who_may_list_in_some_namespaces_sees_nothing_of_the_others(anonymous: str) -> None:
    async with dashboard(anonymous) as (service, _):
        for user in ("ann", "bob", "eve"):
            for path in PATHS:
                status, found = await ask(service, path, token=user)
                assert status in {200, 403}, (user, path, found)
                if "hidden" not in path:
                    assert "hidden" not in str(found), (user, path)
                assert "secret-project" not in str(found), (user, path)
        for path in ("/api/v1/jobs/ml/train", "/api/v1/jobs/ml/train/explanation", "/api/v1/jobs"):
            assert (await ask(service, path, token="bob"))[0] == 200
        assert (await ask(service, "/api/v1/jobs/hidden/none", token="ann"))[0] == 403
        assert (await ask(service, "/api/v1/jobs?namespace=hidden", token="ann"))[0] == 403
        assert (await ask(service, "/api/v1/jobs?namespace=hidden", token="admin"))[0] == 200
        assert (await ask(service, "/api/v1/queues", token="bob"))[0] == 403
        assert (await ask(service, "/api/v1/queues", token="ann"))[0] == 200
        assert (await ask(service, "/api/v1/usage?namespace=ml", token="bob"))[0] == 200
        for path in PATHS:
            status, found = await ask(service, path, token="admin")
            assert status in {200, 404}, (path, found)


async def test_a_token_comes_through_the_api_servers_proxy_under_another_name() -> None:
    async with dashboard("none") as (service, _):
        headers = {PROXIED_HEADER: "Bearer ann", "Host": "api.example:6443"}
        status, found = await ask(service, "/api/v1/jobs", headers=headers)
        assert status == 200
        assert [row["namespace"] for row in found["jobs"]] == ["ml"]


async def test_a_what_if_is_about_what_the_caller_may_see() -> None:
    job = manifest("batch.volcano.sh/v1alpha1", "Job", "trial", queue="training", tasks=[TASK])
    job["metadata"]["namespace"] = "ml"
    foreign = {**job, "metadata": {"name": "trial", "namespace": "hidden"}}
    async with dashboard("none") as (service, _):
        asked = "/api/v1/what-if"
        status, found = await ask(service, asked, token="ann", body={"documents": [job]})
        assert status == 200, found
        assert "secret-project" not in str(found)
        for question in ({"documents": [foreign]}, {"dropJobs": ["hidden/secret-project"]}):
            status, found = await ask(service, asked, token="ann", body=question)
            assert status == 403, found


async def test_foreign_pages_get_no_answer() -> None:
    question = {"documents": [manifest("v1", "Node", "n")]}
    async with dashboard("all") as (service, _):
        assert (await ask(service, "/api/v1/jobs", headers={"Host": "evil.example"}))[0] == 421
        foreign = {"Origin": "https://evil.example"}
        status, _found = await ask(service, "/api/v1/what-if", body=question, headers=foreign)
        assert status == 403
        plain = {"Content-Type": "text/plain"}
        status, _found = await ask(service, "/api/v1/what-if", body=question, headers=plain)
        assert status == 415


async def test_twenty_what_ifs_of_one_user_leave_the_lane_to_others() -> None:
    job = manifest("batch.volcano.sh/v1alpha1", "Job", "trial", queue="training", tasks=[TASK])
    job["metadata"]["namespace"] = "ml"
    async with dashboard("none") as (service, _):
        body = {"documents": [job]}
        many = [
            asyncio.create_task(ask(service, "/api/v1/what-if", token="ann", body=body))
            for _ in range(20)
        ]
        await asyncio.sleep(0.02)
        status, found = await ask(service, "/api/v1/shares", token="admin")
        assert status == 200, found
        statuses = Counter(status for status, _ in await asyncio.gather(*many))
        assert set(statuses) <= {200, 429}


async def test_reviews_are_remembered_for_a_while_and_bounded() -> None:
    async with dashboard("none") as (service, cluster):
        for _ in range(5):
            await ask(service, "/api/v1/jobs", token="ann")
        assert cluster.reviews["tokenreviews"] == 1
        assert cluster.reviews["subjectaccessreviews"] <= 4
    kept: Remembered[int, int] = Remembered(entries_max=3)
    for number in range(10):
        kept.put(number, number, until=1.0)
    assert [kept.get(number, now=0.0) for number in (6, 7, 8, 9)] == [None, 7, 8, 9]
    assert kept.get(9, now=1.0) is None
    assert TOKENS_MAX <= 10_000
    assert RIGHTS_MAX <= 100_000


async def test_a_right_that_was_taken_away_is_not_shown_for_long() -> None:
    now = 0.0

    class Turned(LoopClock):
        def monotonic(self) -> float:
            return now

    cluster = ReviewingCluster(Api(clock=LoopClock(), registry=our_registry()))
    context = memory_context("dashboard", clock=Turned(), cluster=cluster)
    callers = Callers(context, anonymous_sees_all=False)
    ann = await callers.identify("ann")
    assert await callers.may_list(ann, JOBS, namespace="ml")
    RIGHTS["ann"].discard("jobs/ml")
    try:
        assert await callers.may_list(ann, JOBS, namespace="ml")
        now = 31.0
        assert not await callers.may_list(ann, JOBS, namespace="ml")
        now = 61.0
        with pytest.raises(DeniedError):
            await callers.identify("x" * 5)
    finally:
        RIGHTS["ann"].add("jobs/ml")
    assert Caller(name="a") != Caller(name="a", groups=("g",))


def test_names_of_hidden_namespaces_are_taken_out_everywhere() -> None:
    answer = {
        "sentence": "waits for hidden/big-job-0 and ml/own, hidden/x.",
        "rows": [
            {"namespace": "hidden", "name": "big", "cpu": "1"},
            {"namespace": "ml", "name": "own"},
        ],
        "held": {"hidden/a": 1, "ml/b": 2},
        "unhidden/job": "almost-hidden/x",
    }
    scope = Scope(namespaces=frozenset({"ml"}))
    found = redacted(answer, scope, {"ml", "hidden"})
    assert found == {
        "sentence": f"waits for {HIDDEN} and ml/own, {HIDDEN}.",
        "rows": [
            {"namespace": HIDDEN, "name": HIDDEN, "cpu": "1"},
            {"namespace": "ml", "name": "own"},
        ],
        "held": {HIDDEN: 1, "ml/b": 2},
        "unhidden/job": "almost-hidden/x",
    }
    assert redacted(answer, Scope(everything=True), {"ml", "hidden"}) is answer
    assert msgspec.json.encode(found)
