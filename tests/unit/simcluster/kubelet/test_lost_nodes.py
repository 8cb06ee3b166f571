"""Nodes that stop or are deleted: their pods are marked, keep their state, and are removed later."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.unit.simcluster.stage import make_pod, play, pod_named, pod_names, put_pod
from vc.model.api.struct import JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.patches import MERGE_PATCH
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.builtin_resources import NODES


async def set_ready(api: Api, status: str, *, name: str = "node-0") -> None:
    condition = {"type": "Ready", "status": status, "reason": "Test"}
    await api.patch(
        NODES,
        {"status": {"conditions": [condition]}},
        content_type=MERGE_PATCH,
        name=name,
        subresource="status",
    )


def phase(api: Api, name: str = "p") -> str:
    found: str = pod_named(api, name)["status"]["phase"]
    return found


def condition(api: Api, kind: str, name: str = "p") -> JsonObject:
    conditions = pod_named(api, name)["status"]["conditions"]
    (found,) = [each for each in conditions if each["type"] == kind]
    return dict(found)


class Stage(msgspec.Struct, frozen=True):
    """A pod's stage when its node is lost, and the phase in which it must stay."""

    id: str
    lost_after_seconds: float
    phase: str
    behaviour: dict[str, Any] = {}
    restart_policy: str = "Never"


STAGES = [
    Stage("a starting pod does not start", 0.1, "Pending"),
    Stage("a running pod does not finish", 0.5, "Running", {"run_seconds": 2}),
    Stage("a pod in back-off does not restart", 1.5, "Running", {"run_seconds": 1}, "Always"),
]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.id)
def test_timers_of_a_lost_node_do_not_fire(stage: Stage) -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p", restart_policy=stage.restart_policy, **stage.behaviour))
        await asyncio.sleep(stage.lost_after_seconds)
        await set_ready(api, "Unknown")
        await asyncio.sleep(0.01)
        before = pod_named(api, "p")
        await asyncio.sleep(8)
        assert pod_named(api, "p") == before
        assert before["status"]["phase"] == stage.phase

    play(story)


def test_pods_of_a_lost_node_are_not_ready() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p"))
        await asyncio.sleep(1)
        assert condition(api, "Ready")["status"] == "True"
        await set_ready(api, "Unknown")
        await asyncio.sleep(0.01)
        assert condition(api, "Ready")["status"] == "False"

    play(story)


def test_pods_of_a_lost_node_are_removed_after_a_while() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p"))
        await put_pod(api, make_pod("q"), node="node-1")
        await asyncio.sleep(1)
        await set_ready(api, "False")
        await asyncio.sleep(9)
        assert pod_names(api) == ["p", "q"]
        await asyncio.sleep(2)
        assert pod_names(api) == ["q"]

    play(story)


def test_a_node_that_returns_in_time_keeps_its_pods() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p"))
        await asyncio.sleep(1)
        await set_ready(api, "Unknown")
        await asyncio.sleep(5)
        await set_ready(api, "True")
        await asyncio.sleep(60)
        assert pod_names(api) == ["p"]
        assert phase(api) == "Running"

    play(story)


def test_a_pod_that_was_starting_starts_when_its_node_returns() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p", run_seconds=3))
        await asyncio.sleep(0.1)
        await set_ready(api, "Unknown")
        await asyncio.sleep(5)
        assert phase(api) == "Pending"
        await set_ready(api, "True")
        await asyncio.sleep(1)
        assert phase(api) == "Running"
        await asyncio.sleep(3)
        assert phase(api) == "Succeeded"

    play(story)


def test_a_deleted_node_loses_its_pods_too() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p", run_seconds=2))
        await asyncio.sleep(0.5)
        await api.delete(NODES, name="node-0")
        await asyncio.sleep(5)
        assert phase(api) == "Running"
        await asyncio.sleep(6)
        assert pod_names(api) == []

    play(story)


def test_a_finished_pod_of_a_lost_node_keeps_its_result() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p", run_seconds=1))
        await asyncio.sleep(2)
        before = pod_named(api, "p")
        await set_ready(api, "Unknown")
        await asyncio.sleep(1)
        assert pod_named(api, "p") == before
        assert before["status"]["phase"] == "Succeeded"

    play(story)


def test_a_pod_bound_to_a_lost_node_stays_pending() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await set_ready(api, "Unknown")
        await asyncio.sleep(0.01)
        await put_pod(api, make_pod("p"))
        await asyncio.sleep(5)
        assert phase(api) == "Pending"

    play(story)
