"""What may happen to simulated nodes: they come, die, return, are drained, and are described."""

import asyncio

import pytest

from tests.unit.simcluster.stage import make_pod, play, pod_named, pod_names, put_pod
from vc.cluster import NotFoundError
from vc.model.api.kinds import BUDGETS
from vc.simcluster import Api
from vc.simcluster.kubelet.kubelet import Timings
from vc.simcluster.kubelet.node_pools import NodePool, PoolError, read_pools
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.builtin_resources import NODES


def test_a_dead_node_loses_its_pods_after_a_while() -> None:
    async def story(api: Api, nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("a"), node="node-0")
        await put_pod(api, make_pod("b"), node="node-1")
        await asyncio.sleep(1)
        nodes.kill("node-0")
        await asyncio.sleep(Timings().lost_seconds - 1)
        node = api.get(NODES, name="node-0")
        assert {taint["key"] for taint in node["spec"]["taints"]} == {
            "node.kubernetes.io/unreachable"
        }
        ready = [c for c in pod_named(api, "a")["status"]["conditions"] if c["type"] == "Ready"]
        assert ready[0]["reason"] == "NodeNotReady"
        await asyncio.sleep(2)
        assert pod_names(api) == ["b"]

    play(story)


def test_a_node_that_returns_in_time_keeps_its_pods() -> None:
    async def story(api: Api, nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("a", run_seconds=20))
        await asyncio.sleep(1)
        nodes.kill("node-0")
        await asyncio.sleep(5)
        nodes.restore("node-0")
        await asyncio.sleep(10)
        assert pod_named(api, "a")["status"]["phase"] == "Running"
        assert "taints" not in api.get(NODES, name="node-0")["spec"]
        await asyncio.sleep(5)
        assert pod_named(api, "a")["status"]["phase"] == "Succeeded"

    play(story)


def test_a_node_that_is_deleted_takes_its_pods_with_it() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("a"))
        await asyncio.sleep(1)
        await api.delete(NODES, name="node-0")
        await asyncio.sleep(Timings().lost_seconds + 1)
        assert pod_names(api) == []

    play(story)


def test_pods_bound_before_their_node_appears_start_with_it() -> None:
    async def story(api: Api, nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("a"), node="late-0")
        await asyncio.sleep(100)
        assert pod_named(api, "a")["status"]["phase"] == "Pending"
        added = await nodes.add_nodes(NodePool(count=1, name_prefix="late-"))
        await asyncio.sleep(1)
        assert added == ["late-0"]
        assert pod_named(api, "a")["status"]["phase"] == "Running"

    play(story)


def test_a_node_made_by_hand_becomes_ready() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        capacity = {"cpu": "1", "pods": "5"}
        await api.create(NODES, {"metadata": {"name": "mine"}, "status": {"capacity": capacity}})
        await put_pod(api, make_pod("a"), node="mine")
        await asyncio.sleep(1)
        conditions = api.get(NODES, name="mine")["status"]["conditions"]
        assert [(c["type"], c["status"]) for c in conditions] == [("Ready", "True")]
        assert pod_named(api, "a")["status"]["phase"] == "Running"

    play(story)


def test_draining_moves_everybody_out_as_budgets_allow() -> None:
    async def story(api: Api, nodes: SimulatedNodes) -> None:
        budget = {
            "metadata": {"name": "one"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }
        await api.create(api.registry.for_kind(BUDGETS), budget, namespace="default")
        await put_pod(api, make_pod("free"))
        for name in ("web-0", "web-1"):
            await put_pod(api, make_pod(name, labels={"app": "web"}))
        await asyncio.sleep(1)
        status = api.get(api.registry.for_kind(BUDGETS), name="one", namespace="default")["status"]
        assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
        kept = await nodes.drain("node-0")
        assert kept == ["web-1"]
        assert pod_names(api) == ["web-1"]
        assert api.get(NODES, name="node-0")["spec"]["unschedulable"] is True
        nodes.cordon("node-0", on=False)
        assert api.get(NODES, name="node-0")["spec"] == {}

    play(story)


def test_what_is_done_to_an_unknown_node_is_refused() -> None:
    async def story(_api: Api, nodes: SimulatedNodes) -> None:
        with pytest.raises(NotFoundError):
            nodes.kill("nobody")

    play(story)


def test_pools_are_read_from_yaml() -> None:
    [pool] = read_pools("")
    assert (pool.count, pool.capacity["nvidia.com/gpu"]) == (8, "8")
    text = """
    nodes:
      - {count: 2, namePrefix: gpu-, capacity: {cpu: 4, memory: 8Gi}, labels: {zone: a}}
      - {count: 1, namePrefix: cpu-, taints: [{key: x, effect: NoSchedule}]}
    """
    gpu, cpu = read_pools(text)
    assert (gpu.count, gpu.name_prefix, gpu.capacity, gpu.labels) == (
        2, "gpu-", {"cpu": 4, "memory": "8Gi"}, {"zone": "a"},
    )  # fmt: skip
    assert cpu.taints == [{"key": "x", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    "text", ["nodes: 3", "nodes: [{cuont: 3}]", "nodes: [{count: -1}]", "a: ["]
)
def test_pools_that_cannot_be_read_say_so(text: str) -> None:
    with pytest.raises(PoolError, match="nodes"):
        read_pools(text)
