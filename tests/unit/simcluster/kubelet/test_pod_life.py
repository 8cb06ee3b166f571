"""Simulated nodes on a virtual loop: how pods start, run, fail, restart, end and get lost."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.unit.simcluster.stage import (
    make_api,
    make_pod,
    nodes_on,
    play,
    pod_named,
    pod_names,
    put_pod,
)
from vc.clock import run_virtual
from vc.model.api.struct import JsonObject
from vc.simcluster import Api
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.builtin_resources import PODS


def first_container(pod: JsonObject) -> JsonObject:
    status: JsonObject = pod["status"]["containerStatuses"][0]
    return status


class Case(msgspec.Struct, frozen=True):
    """What a pod is told to do, and what it has become after some seconds."""

    id: str
    seconds: float
    phase: str
    restart_policy: str = "Never"
    behaviour: dict[str, Any] = {}
    restarts: int = 0
    exit_code: int | None = None


CASES = [
    Case("it is pending while it starts", 0.1, "Pending"),
    Case("it runs after the start delay", 0.3, "Running"),
    Case("it runs until it is deleted", 86400, "Running"),
    Case("it runs for as long as it was told", 5.1, "Running", behaviour={"run_seconds": 5}),
    Case("then it succeeds", 5.3, "Succeeded", behaviour={"run_seconds": 5}, exit_code=0),
    Case("it fails with its exit code", 5.3, "Failed", behaviour={"run_seconds": 5, "exit_code": 42}, exit_code=42),
    Case("Never fails at the first attempt", 9, "Failed", behaviour={"run_seconds": 1, "fail_attempts": 1}, exit_code=1),
    Case("OnFailure restarts what failed", 2.5, "Running", "OnFailure", {"run_seconds": 1, "fail_attempts": 1}, 1),
    Case("OnFailure succeeds after its failures", 9, "Succeeded", "OnFailure", {"run_seconds": 1, "fail_attempts": 2}, 2, 0),
    Case("OnFailure does not restart what succeeded", 9, "Succeeded", "OnFailure", {"run_seconds": 1}, 0, 0),
    Case("Always restarts what succeeded", 5.4, "Running", "Always", {"run_seconds": 1}, 2),
    Case("failed attempts end with the given code", 1.3, "Failed", behaviour={"run_seconds": 1, "fail_attempts": 1, "exit_code": 7}, exit_code=7),
    Case("fractions of a second count", 0.6, "Succeeded", behaviour={"run_seconds": 0.25}, exit_code=0),
    Case("what cannot be read counts as not written", 100, "Running", behaviour={"run_seconds": "soon", "exit_code": "x"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_how_a_pod_lives(case: Case) -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        body = make_pod("p", restart_policy=case.restart_policy, **case.behaviour)
        await put_pod(api, body)
        await asyncio.sleep(case.seconds)
        pod = pod_named(api, "p")
        assert pod["status"]["phase"] == case.phase
        if case.phase != "Pending":
            assert first_container(pod)["restartCount"] == case.restarts
        if case.exit_code is not None:
            assert first_container(pod)["state"]["terminated"]["exitCode"] == case.exit_code

    play(story)


def test_a_running_pod_tells_everything() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p"))
        await asyncio.sleep(1)
        status = pod_named(api, "p")["status"]
        conditions = {c["type"]: c["status"] for c in status["conditions"]}
        assert {"Initialized", "Ready", "ContainersReady", "PodScheduled"} <= conditions.keys()
        assert set(conditions.values()) == {"True"}
        assert status["podIP"].startswith("10.244.")
        assert status["hostIP"] == "172.18.0.0"
        assert status["startTime"] == "2023-11-14T22:13:20Z"
        assert first_container(pod_named(api, "p"))["ready"] is True

    play(story)


def test_the_happy_path_of_a_pod_costs_few_writes() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        before = api.store.version
        await put_pod(api, make_pod("p", run_seconds=5))
        await asyncio.sleep(60)
        assert api.store.version - before == 4  # create, bind, Running, Succeeded

    play(story)


def test_nodes_at_rest_write_nothing() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        before = api.store.version
        await asyncio.sleep(86400)
        assert api.store.version == before

    play(story)


class Ending(msgspec.Struct, frozen=True):
    """A running pod that is deleted: is it still there after some seconds?"""

    id: str
    seconds: float
    there: bool
    grace: int | None = None
    behaviour: dict[str, Any] = {}


ENDINGS = [
    Ending("it ends at once by default", 0.01, there=False),
    Ending("it takes its time", 3.9, there=True, behaviour={"grace_seconds": 4}),
    Ending("but no longer", 4.1, there=False, behaviour={"grace_seconds": 4}),
    Ending(
        "its grace period is the limit", 2.1, there=False, grace=2, behaviour={"grace_seconds": 99}
    ),
    Ending(
        "thirty seconds is the default limit", 29.9, there=True, behaviour={"grace_seconds": 99}
    ),
    Ending("and then it is killed", 30.1, there=False, behaviour={"grace_seconds": 99}),
]


@pytest.mark.parametrize("case", ENDINGS, ids=lambda case: case.id)
def test_how_a_pod_ends(case: Ending) -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p", **case.behaviour))
        await asyncio.sleep(1)
        options: JsonObject = {} if case.grace is None else {"gracePeriodSeconds": case.grace}
        await api.delete(PODS, name="p", namespace="default", options=options)
        await asyncio.sleep(case.seconds)
        assert (pod_names(api) == ["p"]) is case.there

    play(story)


def test_the_last_that_is_seen_of_a_deleted_pod_is_that_it_failed() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p"))
        await asyncio.sleep(1)
        version = str(api.store.version)
        await api.delete(PODS, name="p", namespace="default")
        watch = api.watch(PODS, resource_version=version, timeout_seconds=5)
        seen = [event async for event in watch if event.type != "BOOKMARK"]
        assert [event.type for event in seen] == ["MODIFIED", "MODIFIED", "DELETED"]
        last = msgspec.json.decode(seen[-1].object)
        assert last["status"]["phase"] == "Failed"
        assert first_container(last)["state"]["terminated"]["exitCode"] == 143

    play(story)


def test_a_finalizer_keeps_the_pod_but_not_its_containers() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        body = make_pod("p", cpu="4")
        body["metadata"]["finalizers"] = ["example.com/hold"]
        await put_pod(api, body)
        await asyncio.sleep(1)
        await api.delete(PODS, name="p", namespace="default")
        await asyncio.sleep(1)
        assert pod_named(api, "p")["status"]["phase"] == "Failed"
        await put_pod(api, make_pod("next", cpu="4"))
        await asyncio.sleep(1)
        assert pod_named(api, "next")["status"]["phase"] == "Running"

    play(story)


def test_a_node_takes_no_more_than_it_has() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        for name, cpu in (("a", "3"), ("b", "2"), ("c", "1")):
            await put_pod(api, make_pod(name, cpu=cpu))
        await asyncio.sleep(1)
        phases = [pod_named(api, name)["status"]["phase"] for name in "abc"]
        assert phases == ["Running", "Failed", "Running"]
        refused = pod_named(api, "b")["status"]
        assert refused["reason"] == "OutOfcpu"
        assert "requested: 2000, used: 3000, capacity: 4000" in refused["message"]

    play(story)


def test_a_node_takes_no_more_pods_than_it_may() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        for number in range(11):
            await put_pod(api, make_pod(f"p{number:02}", cpu="1m"))
        await asyncio.sleep(1)
        assert pod_named(api, "p10")["status"]["reason"] == "OutOfpods"

    play(story)


@pytest.mark.parametrize("how", ["finished", "deleted"])
def test_what_a_pod_held_is_free_after_it(how: str) -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        behaviour: dict[str, Any] = {"run_seconds": 2} if how == "finished" else {}
        await put_pod(api, make_pod("a", cpu="4", **behaviour))
        await asyncio.sleep(3)
        if how == "deleted":
            await api.delete(PODS, name="a", namespace="default")
            await asyncio.sleep(0.1)
        await put_pod(api, make_pod("b", cpu="4"))
        await asyncio.sleep(1)
        assert pod_named(api, "b")["status"]["phase"] == "Running"

    play(story)


def test_logs_tell_the_story() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        body = make_pod("p", restart_policy="OnFailure", run_seconds=1, fail_attempts=1)
        await put_pod(api, body)
        await asyncio.sleep(10)
        lines = api.logs(namespace="default", name="p").splitlines()
        assert [line.split(" ", 1)[1] for line in lines] == [
            "started on node-0, attempt 1: sleep 5",
            "exited with code 1",
            "started on node-0, attempt 2: sleep 5",
            "exited with code 0",
        ]
        last = api.logs(namespace="default", name="p", tail_lines=1)
        assert last.endswith("exited with code 0\n")
        assert last.count("\n") == 1

    play(story)


def test_a_restarted_kubelet_goes_on_where_the_last_one_stopped() -> None:
    async def story() -> None:
        api = make_api()
        async with nodes_on(api):
            await put_pod(api, make_pod("short", run_seconds=10))
            await put_pod(api, make_pod("big", cpu="3"))
            body = make_pod("flaky", restart_policy="OnFailure", run_seconds=4, fail_attempts=1)
            await put_pod(api, body, node="node-1")
            await asyncio.sleep(6)
        assert first_container(pod_named(api, "flaky"))["restartCount"] == 1
        await put_pod(api, make_pod("late", cpu="2"))
        async with nodes_on(api):
            await asyncio.sleep(1)
            assert pod_named(api, "late")["status"]["reason"] == "OutOfcpu"
            await asyncio.sleep(4)
            assert pod_named(api, "short")["status"]["phase"] == "Succeeded"
            assert pod_named(api, "flaky")["status"]["phase"] == "Succeeded"
            assert first_container(pod_named(api, "flaky"))["restartCount"] == 1

    run_virtual(story())


def test_the_same_seed_gives_the_same_history() -> None:
    async def story() -> list[tuple[str, bytes]]:
        api = make_api(seed=3)
        async with nodes_on(api) as nodes:
            for number in range(20):
                body = make_pod(
                    f"p{number}", cpu="500m", restart_policy="OnFailure", run_seconds=number % 5,
                    fail_attempts=number % 3,
                )  # fmt: skip
                await put_pod(api, body, node=f"node-{number % 2}")
                await asyncio.sleep(0.3)
            nodes.kill("node-1")
            await asyncio.sleep(30)
        return [(change.type, change.record.raw) for change in api.store.table(PODS).history]

    first, again = run_virtual(story()), run_virtual(story())
    assert first == again
    assert len(first) > 80
