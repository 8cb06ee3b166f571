"""Small steps of the contract tests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import msgspec

from vc.cluster import Cluster, NotFoundError, WatchEvent
from vc.model.api.kinds import PODS, Kind
from vc.model.api.struct import JsonObject

WAIT_SECONDS_MAX: Final = 10.0
_POLL_SECONDS: Final = 0.02


def config_map(name: str, **data: str) -> JsonObject:
    return {"metadata": {"name": name}, "data": data}


def lease(name: str) -> JsonObject:
    """Ends without ado; of a pod, a real server first says that it is ending."""
    return {"metadata": {"name": name}, "spec": {"holderIdentity": "other"}}


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    container = {"name": "main", "image": "busybox:1", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"containers": [container], **spec},
    }


def vcjob(name: str, **task: Any) -> JsonObject:
    template = {"spec": {"containers": [{"name": "main", "image": "busybox:1"}]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"tasks": [{"name": "work", "replicas": 1, "template": template, **task}]},
    }


def owned_by(owner: JsonObject, body: JsonObject, *, block: bool = False) -> JsonObject:
    """The body with an owner reference."""
    ref = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": block,
    }
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [ref]}}


def names(items: list[bytes]) -> list[str]:
    return [msgspec.json.decode(item)["metadata"]["name"] for item in items]


async def exists(cluster: Cluster, kind: Kind, name: str, namespace: str = "") -> bool:
    try:
        await cluster.get(kind, name=name, namespace=namespace)
    except NotFoundError:
        return False
    return True


async def eventually(holds: Callable[[], Awaitable[bool]], *, why: str) -> None:
    """Wait until it holds; fails with the sentence when it never does."""
    try:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while not await holds():  # noqa: ASYNC110  a server cannot set our event
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise AssertionError(f"never within {WAIT_SECONDS_MAX} s: {why}") from None


async def gone(cluster: Cluster, kind: Kind, name: str, namespace: str = "") -> None:
    async def is_gone() -> bool:
        return not await exists(cluster, kind, name, namespace)

    await eventually(is_gone, why=f"{kind.plural} {namespace}/{name} is gone")


async def take(
    events: AsyncIterator[WatchEvent], count: int, *, bookmarks: bool = False
) -> list[WatchEvent]:
    """The next events, without bookmarks unless they are what is asked for."""
    taken: list[WatchEvent] = []
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        async for event in events:
            if bookmarks or event.type != "BOOKMARK":
                taken.append(event)
            if len(taken) == count:
                return taken
    raise AssertionError(f"the watch ended after {len(taken)} of {count} events")


async def bound_pod(
    cluster: Cluster, namespace: str, name: str, *, node: str = "node-0", **more: Any
) -> JsonObject:
    """A pod that a node has."""
    made = await cluster.create(PODS, pod(name, **more), namespace=namespace)
    uid = made["metadata"]["uid"]
    await cluster.bind(namespace=namespace, name=name, uid=uid, node=node)
    return await cluster.get(PODS, name=name, namespace=namespace)
