"""Binding, eviction and the graceful end of pods."""

import asyncio

import pytest

from tests.contracts.cluster.steps import bound_pod, eventually, exists, pod
from vc.cluster import Cluster, ConflictError, NotFoundError, TooManyRequestsError
from vc.model.api.kinds import BUDGETS, PODS

OTHER_UID = "00000000-0000-4000-8000-000000000000"


async def test_binding_gives_a_pod_its_node(cluster: Cluster, namespace: str) -> None:
    made = await cluster.create(PODS, pod("a"), namespace=namespace)
    await cluster.bind(
        namespace=namespace,
        name="a",
        uid=made["metadata"]["uid"],
        node="node-3",
        annotations={"example.com/session": "17"},
    )
    bound = await cluster.get(PODS, name="a", namespace=namespace)
    assert bound["spec"]["nodeName"] == "node-3"
    assert bound["metadata"]["annotations"]["example.com/session"] == "17"
    conditions = {c["type"]: c["status"] for c in bound["status"]["conditions"]}
    assert conditions["PodScheduled"] == "True"


async def test_binding_another_pod_of_the_name_conflicts(cluster: Cluster, namespace: str) -> None:
    await cluster.create(PODS, pod("a"), namespace=namespace)
    with pytest.raises(ConflictError):
        await cluster.bind(namespace=namespace, name="a", uid=OTHER_UID, node="node-3")
    unbound = await cluster.get(PODS, name="a", namespace=namespace)
    assert "nodeName" not in unbound["spec"]


async def test_a_pod_is_bound_once(cluster: Cluster, namespace: str) -> None:
    bound = await bound_pod(cluster, namespace, "a", node="node-1")
    uid = bound["metadata"]["uid"]
    for node in ("node-1", "node-2"):
        with pytest.raises(ConflictError, match="already assigned to node"):
            await cluster.bind(namespace=namespace, name="a", uid=uid, node=node)


async def test_of_two_binders_at_once_one_wins(cluster: Cluster, namespace: str) -> None:
    made = await cluster.create(PODS, pod("a"), namespace=namespace)
    uid = made["metadata"]["uid"]
    binds = [
        cluster.bind(namespace=namespace, name="a", uid=uid, node=f"node-{n}") for n in range(4)
    ]
    results = await asyncio.gather(*binds, return_exceptions=True)
    assert sum(isinstance(result, ConflictError) for result in results) == 3


async def test_a_pod_that_ends_or_waits_at_a_gate_is_not_bound(
    cluster: Cluster, namespace: str
) -> None:
    gated = await cluster.create(
        PODS, pod("gated", schedulingGates=[{"name": "example.com/wait"}]), namespace=namespace
    )
    uid = gated["metadata"]["uid"]
    with pytest.raises(ConflictError):
        await cluster.bind(namespace=namespace, name="gated", uid=uid, node="node-1")
    body = pod("ending")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    ending = await cluster.create(PODS, body, namespace=namespace)
    await cluster.delete(PODS, name="ending", namespace=namespace)
    uid = ending["metadata"]["uid"]
    with pytest.raises(ConflictError, match="being deleted"):
        await cluster.bind(namespace=namespace, name="ending", uid=uid, node="node-1")
    await cluster.patch(
        PODS, {"metadata": {"finalizers": None}}, name="ending", namespace=namespace
    )


async def test_binding_what_is_not_there_is_not_found(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(NotFoundError):
        await cluster.bind(namespace=namespace, name="missing", uid=OTHER_UID, node="node-1")


async def test_an_unbound_pod_vanishes_at_once(cluster: Cluster, namespace: str) -> None:
    await cluster.create(PODS, pod("a"), namespace=namespace)
    await cluster.delete(PODS, name="a", namespace=namespace)
    assert not await exists(cluster, PODS, "a", namespace)


async def test_a_bound_pod_gets_its_grace_period(cluster: Cluster, namespace: str) -> None:
    await bound_pod(cluster, namespace, "a", node="no-such-node")
    await cluster.delete(PODS, name="a", namespace=namespace)
    ending = await cluster.get(PODS, name="a", namespace=namespace)
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 30
    assert ending["metadata"]["deletionTimestamp"]
    await cluster.delete(PODS, name="a", namespace=namespace, grace_seconds=0)
    assert not await exists(cluster, PODS, "a", namespace)


async def test_a_grace_period_is_shortened_never_extended(cluster: Cluster, namespace: str) -> None:
    await bound_pod(cluster, namespace, "a", node="no-such-node")
    seen = []
    for grace in (20, 5, 60):
        await cluster.delete(PODS, name="a", namespace=namespace, grace_seconds=grace)
        ending = await cluster.get(PODS, name="a", namespace=namespace)
        seen.append(ending["metadata"]["deletionGracePeriodSeconds"])
    assert seen == [20, 5, 5]


async def test_a_finished_pod_needs_no_grace(cluster: Cluster, namespace: str) -> None:
    await bound_pod(cluster, namespace, "a", node="no-such-node")
    await cluster.patch(
        PODS,
        {"status": {"phase": "Succeeded"}},
        name="a",
        namespace=namespace,
        subresource="status",
    )
    await cluster.delete(PODS, name="a", namespace=namespace)
    assert not await exists(cluster, PODS, "a", namespace)


async def test_eviction_ends_a_pod(cluster: Cluster, namespace: str) -> None:
    bound = await bound_pod(cluster, namespace, "a", node="no-such-node")
    with pytest.raises(ConflictError):
        await cluster.evict(namespace=namespace, name="a", uid=OTHER_UID)
    uid = bound["metadata"]["uid"]
    await cluster.evict(namespace=namespace, name="a", uid=uid, grace_seconds=7)
    ending = await cluster.get(PODS, name="a", namespace=namespace)
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 7


async def test_a_disruption_budget_stops_evictions(controlled: Cluster, namespace: str) -> None:
    cluster = controlled
    budget = {
        "metadata": {"name": "keep-one"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    await cluster.create(BUDGETS, budget, namespace=namespace)
    uids = []
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for name in ("a", "b"):
        bound = await bound_pod(
            cluster, namespace, name, node="no-such-node", labels={"app": "web"}
        )
        uids.append(bound["metadata"]["uid"])
        await cluster.patch(
            PODS, {"status": ready}, name=name, namespace=namespace, subresource="status"
        )

    async def let_go() -> bool:
        """A budget that is not counted yet allows no eviction."""
        try:
            await cluster.evict(namespace=namespace, name="a", uid=uids[0])
        except TooManyRequestsError:
            return False
        return True

    await eventually(let_go, why="the budget lets one of two go")
    with pytest.raises(TooManyRequestsError, match="disruption budget") as refused:
        await cluster.evict(namespace=namespace, name="b", uid=uids[1])
    assert refused.value.by_budget, "it is told apart from a server that is busy"
    kept = await cluster.get(PODS, name="b", namespace=namespace)
    assert "deletionTimestamp" not in kept["metadata"]
