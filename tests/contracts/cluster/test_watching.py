"""Watches miss nothing, say how far they are, and say so when they cannot go on."""

import asyncio

import msgspec
import pytest

from tests.contracts.cluster.backends import Target
from tests.contracts.cluster.steps import config_map, lease, pod, take
from vc.cluster import Cluster, GoneError, WatchEvent
from vc.model.api.kinds import CONFIGMAPS, LEASES, PODS


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(e.type, msgspec.json.decode(e.object)["metadata"]["name"]) for e in events]


async def test_a_watch_from_a_list_misses_nothing(cluster: Cluster, namespace: str) -> None:
    await cluster.create(LEASES, lease("before"), namespace=namespace)
    version = (await cluster.list(LEASES, namespace=namespace)).resource_version
    await cluster.create(LEASES, lease("a"), namespace=namespace)
    await cluster.patch(LEASES, {"metadata": {"labels": {"x": "y"}}}, name="a", namespace=namespace)
    events = cluster.watch(LEASES, resource_version=version, namespace=namespace)
    seen = await take(events, 2)
    await cluster.delete(LEASES, name="before", namespace=namespace)
    await cluster.create(LEASES, lease("b"), namespace=namespace)
    seen += await take(
        cluster.watch(LEASES, resource_version=seen[-1].resource_version, namespace=namespace), 2
    )
    assert told(seen) == [
        ("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "before"), ("ADDED", "b"),
    ]  # fmt: skip
    versions = [int(event.resource_version) for event in seen]
    assert versions == sorted(set(versions))


async def test_a_watch_waits_for_what_comes(cluster: Cluster, namespace: str) -> None:
    version = (await cluster.list(PODS, namespace=namespace)).resource_version
    events = cluster.watch(PODS, resource_version=version, namespace=namespace)
    waiting = asyncio.ensure_future(take(events, 1))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await cluster.create(PODS, pod("late"), namespace=namespace)
    assert told(await waiting) == [("ADDED", "late")]


async def test_an_event_carries_the_object_and_its_version(
    cluster: Cluster, namespace: str
) -> None:
    version = (await cluster.list(PODS, namespace=namespace)).resource_version
    made = await cluster.create(PODS, pod("a"), namespace=namespace)
    [event] = await take(cluster.watch(PODS, resource_version=version, namespace=namespace), 1)
    assert msgspec.json.decode(event.object)["metadata"]["uid"] == made["metadata"]["uid"]
    assert event.resource_version == made["metadata"]["resourceVersion"]


async def test_the_last_event_has_a_version_of_its_own(cluster: Cluster, namespace: str) -> None:
    made = await cluster.create(LEASES, lease("a"), namespace=namespace)
    version = made["metadata"]["resourceVersion"]
    await cluster.delete(LEASES, name="a", namespace=namespace)
    [event] = await take(cluster.watch(LEASES, resource_version=version, namespace=namespace), 1)
    assert event.type == "DELETED"
    assert int(event.resource_version) > int(version)


async def test_other_namespaces_and_kinds_are_not_told(cluster: Cluster, namespace: str) -> None:
    version = (await cluster.list(PODS, namespace=namespace)).resource_version
    await cluster.create(PODS, pod("elsewhere"), namespace="default")
    await cluster.create(CONFIGMAPS, config_map("other"), namespace=namespace)
    await cluster.create(PODS, pod("here"), namespace=namespace)
    events = cluster.watch(PODS, resource_version=version, namespace=namespace)
    assert told(await take(events, 1)) == [("ADDED", "here")]
    await cluster.delete(PODS, name="elsewhere", namespace="default")


async def test_a_quiet_watch_says_how_far_it_is(target: Target, namespace: str) -> None:
    version = (await target.cluster.list(PODS, namespace=namespace)).resource_version
    await target.cluster.create(CONFIGMAPS, config_map("noise"), namespace=namespace)
    reached = int((await target.cluster.list(PODS, namespace=namespace)).resource_version)
    # A real server says so once a minute, and shortly before the watch ends.
    seconds = target.bookmark_seconds_max
    events = target.cluster.watch(
        PODS, resource_version=version, namespace=namespace, timeout_seconds=seconds
    )
    async with asyncio.timeout(seconds):
        async for event in events:
            assert event.type == "BOOKMARK"
            if int(event.resource_version) >= reached:
                break


async def test_a_watch_ends_at_its_time_out(cluster: Cluster, namespace: str) -> None:
    version = (await cluster.list(PODS, namespace=namespace)).resource_version
    events = cluster.watch(PODS, resource_version=version, namespace=namespace, timeout_seconds=1.0)
    async with asyncio.timeout(5.0):
        assert [event async for event in events if event.type != "BOOKMARK"] == []


async def test_a_version_that_is_forgotten_is_gone(target: Target, namespace: str) -> None:
    if target.compact is None:
        pytest.skip("this backend compacts in its own time")
    version = (await target.cluster.list(PODS, namespace=namespace)).resource_version
    await target.cluster.create(PODS, pod("a"), namespace=namespace)
    await target.compact()
    with pytest.raises(GoneError):
        await take(target.cluster.watch(PODS, resource_version=version, namespace=namespace), 1)


async def test_many_changes_arrive_in_order(cluster: Cluster, namespace: str) -> None:
    version = (await cluster.list(CONFIGMAPS, namespace=namespace)).resource_version
    await cluster.create(CONFIGMAPS, config_map("counter", n="0"), namespace=namespace)
    for number in range(1, 30):
        await cluster.patch(
            CONFIGMAPS, {"data": {"n": str(number)}}, name="counter", namespace=namespace
        )
    events = cluster.watch(CONFIGMAPS, resource_version=version, namespace=namespace)
    counted: list[int] = []
    async with asyncio.timeout(10.0):
        async for event in events:
            obj = msgspec.json.decode(event.object)
            if event.type != "BOOKMARK" and obj["metadata"]["name"] == "counter":
                counted.append(int(obj["data"]["n"]))
            if counted and counted[-1] == 29:
                break
    assert counted == list(range(30))
