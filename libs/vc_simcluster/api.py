"""The Kubernetes verbs over the store."""

from collections.abc import AsyncIterator, Callable

import msgspec

from vc_clock import Clock
from vc_cluster.interface import WatchEvent
from vc_model.struct import Json, JsonObject
from vc_simcluster.admission import Admission
from vc_simcluster.registry import Registry, Resource


class ObjectPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list: JSON of each object, encoded once when it was written."""

    items: list[bytes]
    resource_version: str
    continue_token: str = ""
    remaining: int = 0


class Api:
    """The embedded API server without its HTTP face."""

    def __init__(
        self,
        *,
        clock: Clock,
        registry: Registry | None = None,
        uid_source: Callable[[], str] | None = None,
        history_max: int = 10_000,
    ) -> None:
        self.clock = clock
        self.registry = registry or Registry()
        self.admission: Admission | None = None

    async def create(
        self,
        resource: Resource,
        body: JsonObject,
        *,
        namespace: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        user: str = "",
    ) -> JsonObject:
        raise NotImplementedError

    def get(self, resource: Resource, *, name: str, namespace: str = "") -> JsonObject:
        raise NotImplementedError

    def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ObjectPage:
        raise NotImplementedError

    def watch(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        timeout_seconds: float = 300.0,
        bookmarks: bool = True,
        send_initial_events: bool = False,
    ) -> AsyncIterator[WatchEvent]:
        raise NotImplementedError

    async def replace(
        self,
        resource: Resource,
        body: JsonObject,
        *,
        name: str,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        user: str = "",
    ) -> JsonObject:
        raise NotImplementedError

    async def patch(
        self,
        resource: Resource,
        patch: Json,
        *,
        content_type: str,
        name: str,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        force: bool = False,
        user: str = "",
    ) -> JsonObject:
        raise NotImplementedError

    async def delete(
        self,
        resource: Resource,
        *,
        name: str,
        namespace: str = "",
        options: JsonObject | None = None,
        dry_run: bool = False,
        user: str = "",
    ) -> JsonObject:
        """A Status when it is gone, the object when it is on its way."""
        raise NotImplementedError

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        options: JsonObject | None = None,
        dry_run: bool = False,
        user: str = "",
    ) -> list[bytes]:
        raise NotImplementedError

    async def bind(self, *, namespace: str, name: str, binding: JsonObject) -> None:
        raise NotImplementedError

    async def evict(self, *, namespace: str, name: str, eviction: JsonObject) -> None:
        raise NotImplementedError

    def logs(
        self, *, namespace: str, name: str, container: str = "", tail_lines: int | None = None
    ) -> str:
        raise NotImplementedError
