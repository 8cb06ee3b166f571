"""What a plugin's pure core is asked and what it answers."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from vc_messages.effects import Effect
from vc_messages.plugins import JobDecoration, PluginAnnouncement, PluginRequest
from vc_model.kinds import Kind
from vc_model.struct import JsonObject


class Decorated(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: what pods get, what is to be written for the job, or what is wrong."""

    decoration: JobDecoration | None = None
    effects: tuple[Effect, ...] = ()
    problem: str = ""
    """The user's to mend; nothing is written and no pod is made while it stands."""
    warnings: tuple[str, ...] = ()
    """What the job's author should know, such as ignored arguments: becomes an Event on the job."""


class Reference(msgspec.Struct, frozen=True):
    """An object a core wants to see before it decides."""

    kind: Kind
    namespace: str
    name: str


Found = Mapping[Reference, JsonObject]
"""Objects that exist, of those asked for."""


class Core(Protocol):
    """A plugin's decisions: pure."""

    announcement: PluginAnnouncement

    def looks_at(self, request: PluginRequest) -> list[Reference]:
        """Objects that are read live before the decision; most plugins need none."""
        ...

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:
        """Answer an `apply`."""
        ...

    def remove(self, request: PluginRequest, found: Found) -> Decorated:
        """Answer a `remove`: effects that take away what was made."""
        ...


class MakesNothing:
    """For cores that only decorate pods: they look at nothing, and leave nothing to take away."""

    def looks_at(self, request: PluginRequest) -> list[Reference]:  # noqa: ARG002 - it needs none
        return []

    def remove(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        return Decorated()
