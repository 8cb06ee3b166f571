"""Writes of ConfigMaps for the tests of watches, and the events as texts."""

from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from tests.unit.simcluster.stage import make_pod
from vc.cluster.interface import WatchEvent
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.struct import JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.patches import MERGE_PATCH
from vc.simcluster.schema.builtin_resources import PODS

Write = Callable[[Api], Awaitable[object]]


def config(name: str, **labels: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": labels}}


def create(name: str, *, namespace: str = "default", **labels: str) -> Write:
    async def write(api: Api) -> None:
        resource = api.registry.for_kind(CONFIGMAPS)
        await api.create(resource, config(name, **labels), namespace=namespace)

    return write


def label(name: str, **labels: str | None) -> Write:
    async def write(api: Api) -> None:
        patch = {"metadata": {"labels": labels}}
        await api.patch(
            api.registry.for_kind(CONFIGMAPS), patch, content_type=MERGE_PATCH, name=name,
            namespace="default",
        )  # fmt: skip

    return write


def delete(name: str) -> Write:
    async def write(api: Api) -> None:
        await api.delete(api.registry.for_kind(CONFIGMAPS), name=name, namespace="default")

    return write


def make_pod_named(name: str) -> Write:
    async def write(api: Api) -> None:
        await api.create(PODS, make_pod(name), namespace="default")

    return write


def told(event: WatchEvent) -> str:
    """An event as the table writes it: the type, and the name unless it is a bookmark."""
    name = msgspec.json.decode(event.object)["metadata"].get("name", "")
    return f"{event.type} {name}".strip()


async def collect(watch: AsyncIterator[WatchEvent]) -> list[WatchEvent]:
    return [event async for event in watch]
