"""The interface between the shell and the pure core of a plugin."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from vc.messages.effects import Effect
from vc.messages.plugins import JobDecoration, PluginAnnouncement, PluginRequest
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject


class Decorated(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a core: a decoration for pods, effects for the job, or a problem."""

    decoration: JobDecoration | None = None
    effects: tuple[Effect, ...] = ()
    problem: str = ""
    """An error that the user has to fix. Meanwhile nothing is written and no pod is created."""
    warnings: tuple[str, ...] = ()
    """Information for the author of the job, such as ignored arguments.
    It becomes an Event on the job."""


class ObjectReference(msgspec.Struct, frozen=True):
    """An object that a core needs to read before it decides."""

    kind: Kind
    namespace: str
    name: str


Found = Mapping[ObjectReference, JsonObject]
"""The requested objects that exist."""


class Core(Protocol):
    """The pure decisions of a plugin."""

    announcement: PluginAnnouncement

    def looks_at(self, request: PluginRequest) -> list[ObjectReference]:
        """Objects to read live before the decision. Most plugins need none."""
        ...

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:
        """Answer an `apply` request."""
        ...

    def remove(self, request: PluginRequest, found: Found) -> Decorated:
        """Answer a `remove` request with effects that delete what was created."""
        ...


class MakesNothing:
    """Base of cores that only decorate pods. They read no objects and create none."""

    def looks_at(self, request: PluginRequest) -> list[ObjectReference]:  # noqa: ARG002 - it needs none
        return []

    def remove(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        return Decorated()
