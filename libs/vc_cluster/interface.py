"""What a shell may ask of the cluster.

Bodies are plain JSON objects on writes. Lists and watches give raw JSON bytes, because the one
reader (the watcher) decodes them into typed structs, and everything between would cost a hundred
times more than the decoding. Every effect can carry a precondition, so that a stale writer cannot
undo what a newer one did.
"""

from collections.abc import AsyncIterator
from typing import Protocol

import msgspec

from vc_model.kinds import Kind
from vc_model.struct import JsonObject


class ListPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list, in the order of keys."""

    items: list[bytes]
    resource_version: str
    """Of the whole list: a watch from here on misses nothing."""
    continue_token: str = ""
    """Empty on the last page."""


class WatchEvent(msgspec.Struct, frozen=True):
    """One change. A BOOKMARK carries only how far the watch has come."""

    type: str
    """ADDED, MODIFIED, DELETED or BOOKMARK; errors are raised."""
    object: bytes
    resource_version: str


class Preconditions(msgspec.Struct, frozen=True, kw_only=True):
    """What must still hold when the effect is applied; a difference is a ConflictError."""

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
        """A page of objects; all of them when `limit` is 0. GoneError when the token is too old."""
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

        GoneError when the version is too old. Closing the iterator ends the watch.
        """
        ...

    async def get(self, kind: Kind, *, name: str, namespace: str = "") -> JsonObject:
        """The object as it is now."""
        ...

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        """The object as it was made."""
        ...

    async def replace(
        self, kind: Kind, body: JsonObject, *, namespace: str = "", subresource: str = ""
    ) -> JsonObject:
        """Write the whole object; its resourceVersion is the precondition. For Leases."""
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
        """Apply an RFC 7396 merge patch; preconditions travel inside it as metadata."""
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
        """Ask for the object's end; NotFoundError when it is gone already."""
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
        """Bind the pod of that uid to the node; ConflictError when it is another or bound."""
        ...

    async def evict(
        self, *, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> None:
        """Evict through the API, so that disruption budgets count (TooManyRequestsError)."""
        ...

    async def date(self) -> float:
        """The API server's clock in whole seconds since the epoch; ServerError when it does not say."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
