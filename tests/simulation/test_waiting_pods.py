"""What autoscalers and `kubectl describe` see of pods that wait, on the whole stack; and what it costs."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from tests.simulation.test_writes import CountingCluster
from vc.clock import run_virtual
from vc.model.api.kinds import EVENTS, PODGROUPS, PODS
from vc.model.api.pod import Pod
from vc.model.api.struct import JsonObject
from vc.scheduling.pod_status.background_queue import WRITES_PER_SECOND
from vc.simcluster.kubelet.node_pools import NodePool

SEVEN_NODES: Final = (NodePool(count=7),)
NEVER_ON_SEVEN_NODES: Final = (
    "can never start with these nodes: even if they were empty they could run 7 of the 8 pods that "
    "must start together; 7 of the 8 pods of cpu 40"
)
TEN_MINUTES: Final = 600.0
WAITING_PODS: Final = 100
WAITING_COSTS: Final = {
    "patch pods": WAITING_PODS,  # PodScheduled=False, once
    "patch podgroups": 4,  # let in, why it waits, out after five minutes, in again
    "create events": WAITING_PODS + 6,  # on each pod; on group and job for each of three reasons
    "patch events": 2,  # the count of the reason that came back, on pod group and job
}
"""At most, for a gang that waits for ten minutes."""


def simulate(
    story: Callable[[Stack, CountingCluster], Awaitable[None]], *, pools: tuple[NodePool, ...]
) -> None:
    async def main() -> None:
        stack = Stack(services=CORE, pools=pools)
        cluster = stack.cluster = CountingCluster(stack.api)
        async with stack:
            await stack.clock.sleep(3)
            cluster.writes.clear()
            await story(stack, cluster)
            assert stack.problems == []

    run_virtual(main())


def unschedulable(stack: Stack) -> list[Pod]:
    """As cluster-autoscaler and Karpenter select pods to make room for."""
    return [
        pod
        for pod in stack.pods()
        if not pod.spec.node_name
        and any(
            (c.type, c.status, c.reason) == ("PodScheduled", "False", "Unschedulable")
            for c in pod.status.conditions
        )
    ]


def events(stack: Stack, uid: str, reason: str) -> list[JsonObject]:
    """As `kubectl describe` selects them."""
    listed = stack.api.list(stack.api.registry.for_kind(EVENTS)).items
    found: list[JsonObject] = [msgspec.json.decode(raw) for raw in listed]
    return [e for e in found if e["involvedObject"]["uid"] == uid and e["reason"] == reason]


def group_uid(stack: Stack, name: str) -> str:
    resource = stack.api.registry.for_kind(PODGROUPS)
    uid: str = stack.api.get(resource, name=name, namespace="default")["metadata"]["uid"]
    return uid


async def all_marked(stack: Stack, count: int) -> None:
    await stack.until(
        lambda: len(unschedulable(stack)) == count, seconds=60, what=f"{count} pods say why"
    )
    await stack.clock.sleep(2 * count / WRITES_PER_SECOND + 5)


def test_an_autoscaler_sees_every_pod_of_a_gang_that_waits_and_nothing_is_rewritten() -> None:
    async def story(stack: Stack, cluster: CountingCluster) -> None:
        await stack.submit(gang_job("a", replicas=8, cpu="40"))
        await all_marked(stack, 8)
        waiting = unschedulable(stack)
        messages = {c.message for pod in waiting for c in pod.status.conditions}
        assert len(messages) == 1
        assert messages.pop().startswith(NEVER_ON_SEVEN_NODES)
        for pod in waiting:
            (event,) = events(stack, pod.metadata.uid, "FailedScheduling")
            assert (event["type"], event["involvedObject"]["kind"]) == ("Warning", PODS.kind)
            assert event["message"].startswith(NEVER_ON_SEVEN_NODES)
        (of_job,) = events(stack, stack.job("a").metadata.uid, "FailedScheduling")
        assert of_job["message"].startswith(NEVER_ON_SEVEN_NODES)
        assert events(stack, group_uid(stack, "a"), "Unschedulable")

        cluster.writes.clear()
        await stack.clock.sleep(TEN_MINUTES)
        assert cluster.writes["patch pods"] == 0, "nothing changed for the pods"
        assert len(events(stack, waiting[0].metadata.uid, "FailedScheduling")) == 1

    simulate(story, pools=SEVEN_NODES)


def test_pods_beyond_the_minimum_are_seen_too() -> None:
    async def story(stack: Stack, _: CountingCluster) -> None:
        await stack.submit(gang_job("a", replicas=8, min_available=2, cpu="40", run_seconds=900))
        await all_marked(stack, 1)
        (late,) = unschedulable(stack)
        (event,) = events(stack, late.metadata.uid, "FailedScheduling")
        assert event["message"].startswith("1 pod beyond the minimum of 2 waits: 0/7 nodes")
        (of_job,) = events(stack, stack.job("a").metadata.uid, "FailedScheduling")
        assert of_job["message"] == event["message"]

    simulate(story, pools=SEVEN_NODES)


def test_a_restarted_scheduler_rewrites_nothing() -> None:
    async def story(stack: Stack, cluster: CountingCluster) -> None:
        await stack.submit(gang_job("a", replicas=8, cpu="40"))
        await all_marked(stack, 8)
        cluster.writes.clear()
        stack.kill("scheduler")
        await stack.clock.sleep(120)
        assert cluster.writes["patch pods"] == 0

    simulate(story, pools=SEVEN_NODES)


@pytest.mark.parametrize("pod_events", ["none", "waiting", "all"])
def test_a_gang_is_said_to_be_scheduled_once(
    pod_events: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEDULER_POD_EVENTS", pod_events)

    async def story(stack: Stack, cluster: CountingCluster) -> None:
        await stack.submit(gang_job("a", replicas=4, run_seconds=900))
        await stack.until(
            lambda: cluster.writes["bind pods"] == 4, seconds=30, what="the gang is bound"
        )
        await stack.clock.sleep(10)
        for uid in (stack.job("a").metadata.uid, group_uid(stack, "a")):
            (event,) = events(stack, uid, "Scheduled")
            assert (event["type"], event["count"]) == ("Normal", 1)
            assert event["message"] == "pod group is ready: 4 pods are bound"
        of_pods = [events(stack, pod.metadata.uid, "Scheduled") for pod in stack.pods()]
        each = 1 if pod_events == "all" else 0
        assert [len(found) for found in of_pods] == [each] * 4
        assert cluster.writes["create events"] == 2 + 4 * each
        assert cluster.writes["patch pods"] == 0

    simulate(story, pools=SEVEN_NODES)


def test_waiting_costs_two_writes_a_pod_and_a_few_a_gang_however_long_it_lasts() -> None:
    """The figures of ADR 0030: 100 pods that wait for ten minutes in a cluster where nothing moves."""

    async def story(stack: Stack, cluster: CountingCluster) -> None:
        manifest = gang_job("a", replicas=WAITING_PODS, cpu="5500m")
        await stack.submit(manifest)
        await all_marked(stack, WAITING_PODS)
        await stack.clock.sleep(TEN_MINUTES)
        assert cluster.writes["create pods"] == WAITING_PODS
        assert cluster.writes["patch pods"] == WAITING_PODS
        for write, most in WAITING_COSTS.items():
            assert cluster.writes[write] <= most, f"{write}: {cluster.writes[write]}"

    simulate(story, pools=(NodePool(count=8),))
