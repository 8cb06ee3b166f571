"""The interface to the cluster.

Bodies of writes are plain JSON objects. Lists and watches return raw JSON bytes, because their only
reader (the watcher) decodes them into typed structs, and an intermediate form would cost a hundred
times more than the decoding. Every write can have a precondition, so that a stale writer cannot
undo the write of a newer one.
"""

from collections.abc import AsyncIterator
from typing import Protocol

import msgspec

from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject


class ListPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list, in the order of keys."""

    items: list[bytes]
    resource_version: str
    """The version of the whole list: a watch from here misses nothing."""
    continue_token: str = ""
    """Empty on the last page."""


class WatchEvent(msgspec.Struct, frozen=True):
    """One change. A BOOKMARK only has the version that the watch has reached."""

    type: str
    """ADDED, MODIFIED, DELETED or BOOKMARK; errors are raised."""
    object: bytes
    resource_version: str


class Preconditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that must hold when the write is applied; otherwise a ConflictError is raised."""

    uid: str = ""
    resource_version: str = ""


class Cluster(Protocol):
    """The Kubernetes API as our shells use it."""

    async def list(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ListPage:
        """A page of objects; all objects if `limit` is 0. GoneError if the token is too old."""
        ...

    def watch(
        self,
        kind: Kind,
        *,
        resource_version: str,
        namespace: str = "",
        timeout_seconds: float = 300.0,
    ) -> AsyncIterator[WatchEvent]:
        """Changes after `resource_version`, with bookmarks; ends at the time-out.

        Raises GoneError if the version is too old. Closing the iterator ends the watch.
        """
        ...

    async def get(self, kind: Kind, *, name: str, namespace: str = "") -> JsonObject:
        """The current object; raises NotFoundError if it does not exist."""
        ...

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        """Create the object; returns it as stored."""
        ...

    async def replace(
        self, kind: Kind, body: JsonObject, *, namespace: str = "", subresource: str = ""
    ) -> JsonObject:
        """Write the whole object; its resourceVersion is the precondition. Used for Leases."""
        ...

    async def patch(
        self,
        kind: Kind,
        patch: JsonObject,
        *,
        name: str,
        namespace: str = "",
        subresource: str = "",
        preconditions: Preconditions | None = None,
    ) -> JsonObject:
        """Apply an RFC 7396 merge patch; preconditions are sent inside it as metadata."""
        ...

    async def delete(
        self,
        kind: Kind,
        *,
        name: str,
        namespace: str = "",
        preconditions: Preconditions | None = None,
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> None:
        """Request the deletion of the object; raises NotFoundError if it does not exist."""
        ...

    async def bind(
        self,
        *,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: dict[str, str] | None = None,
    ) -> None:
        """Bind the pod of that uid to the node;
        ConflictError if the uid differs or the pod is bound.
        """
        ...

    async def evict(
        self, *, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> None:
        """Evict through the API, which respects disruption budgets (TooManyRequestsError)."""
        ...

    async def date(self) -> float:
        """The API server's clock in whole seconds since the Unix epoch;
        ServerError if it is not in the response.
        """
        ...

    async def close(self) -> None:
        """Close all connections. No method may be called afterwards."""
        ...
