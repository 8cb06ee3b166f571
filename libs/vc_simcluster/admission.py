"""The door for admission webhooks: what the API asks, and who answers.

The API knows only this Protocol; the module that calls webhooks over HTTPS implements it and is
put into `Api.admission`. Warnings go to whoever answers the request, through a context variable,
because they belong to the request and not to the object.
"""

from contextvars import ContextVar
from typing import Final, Protocol

import msgspec

from vc_model.struct import JsonObject
from vc_simcluster.resource import Resource

WARNINGS: Final[ContextVar[list[str] | None]] = ContextVar("admission_warnings", default=None)
"""The HTTP face sets a fresh list per request and sends what it finds as Warning headers."""


class AdmissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One write that is about to happen."""

    operation: str
    """CREATE, UPDATE, DELETE or CONNECT."""
    resource: Resource
    name: str
    namespace: str = ""
    subresource: str = ""
    object: JsonObject | None = None
    """As it would be stored; None on DELETE."""
    old_object: JsonObject | None = None
    """As it is stored; None on CREATE."""
    options: JsonObject = {}
    dry_run: bool = False
    user: str = ""


class Admission(Protocol):
    """May change an object before it is validated, and refuse it after; raises ClusterError."""

    async def mutate(self, request: AdmissionRequest) -> JsonObject:
        """The object, changed or not. Not called for DELETE."""
        ...

    async def validate(self, request: AdmissionRequest) -> list[str]:
        """Warnings for the caller."""
        ...


def warn(messages: list[str]) -> None:
    """Hand warnings to the request that is being answered, if anybody collects them."""
    collected = WARNINGS.get()
    if collected is not None:
        collected.extend(messages)
