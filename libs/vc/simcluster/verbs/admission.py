"""The interface between the API and admission webhooks.

The API depends only on this Protocol. The module that calls webhooks over HTTPS implements it and
is assigned to `Api.admission`. Warnings are passed to the HTTP response through a context variable,
because they belong to the request and not to the object.
"""

from contextvars import ContextVar
from typing import Final, Protocol

import msgspec

from vc.model.api.struct import JsonObject
from vc.simcluster.store.resource import Resource

WARNINGS: Final[ContextVar[list[str] | None]] = ContextVar("admission_warnings", default=None)
"""The HTTP server sets a new list per request and sends its content as Warning headers."""


class AdmissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One write, before it is stored."""

    operation: str
    """CREATE, UPDATE, DELETE or CONNECT."""
    resource: Resource
    name: str
    namespace: str = ""
    subresource: str = ""
    object: JsonObject | None = None
    """The object as it would be stored. None for DELETE."""
    old_object: JsonObject | None = None
    """The object as it is stored now. None for CREATE."""
    options: JsonObject = {}
    dry_run: bool = False
    user: str = ""


class Admission(Protocol):
    """Mutates objects before validation and may reject them afterwards. Raises ClusterError."""

    async def mutate(self, request: AdmissionRequest) -> JsonObject:
        """Return the object, changed or unchanged. Not called for DELETE."""
        ...

    async def validate(self, request: AdmissionRequest) -> list[str]:
        """Raise ClusterError to reject the request; otherwise return warnings for the client."""
        ...


def warn(messages: list[str]) -> None:
    """Add warnings to the current request. Without a collecting request they are dropped."""
    collected = WARNINGS.get()
    if collected is not None:
        collected.extend(messages)
