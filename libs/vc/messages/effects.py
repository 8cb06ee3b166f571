"""Effects: the writes that decisions request. Shells apply them; nothing here has side effects.

Each effect has what makes it safe to apply late or twice: deterministic names on creates, the
owner's uid to recognise an existing object as ours, and uid or resourceVersion on all other writes.
"""

from typing import TypeAlias

import msgspec

from vc.messages.record import Message
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject


class _Effect(msgspec.Struct, frozen=True, kw_only=True):
    """A write to the cluster."""

    kind: Kind
    namespace: str = ""
    name: str


class LiveObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object that must exist with this uid when it is read from the API server."""

    kind: Kind
    namespace: str = ""
    name: str
    uid: str


class CreateObject(_Effect, frozen=True, kw_only=True):
    """Create the object, unless it exists and is ours."""

    body: JsonObject
    owner_uid: str = ""
    """The controller's uid: AlreadyExists is a success only if the existing object has it."""
    owner_kind: Kind | None = None
    """The controller's kind. If set, an object that an older controller of the same kind and name
    left behind is removed first. If None, an object of another controller is never changed.
    """


class PatchObject(_Effect, frozen=True, kw_only=True):
    """Merge-patch the object, with uid and resourceVersion as preconditions if given."""

    patch: JsonObject
    subresource: str = ""
    uid: str = ""
    resource_version: str = ""


class DeleteObject(_Effect, frozen=True, kw_only=True):
    """Delete the object with that uid, and no other."""

    uid: str
    resource_version: str = ""
    """If given, the object must not have changed since the decision."""
    only_if_live: LiveObject | None = None
    """An owner that must exist. A live read of it proves that any other owner of its name is gone,
    because a view may be stale.
    """
    grace_seconds: int | None = None
    propagation: str = ""


class BindPod(msgspec.Struct, frozen=True, kw_only=True):
    """Bind the pod with that uid to a node."""

    namespace: str
    name: str
    uid: str
    node: str
    lifts_gate: bool = False
    """The pod has Volcano's own scheduling gate and no other;
    the gate is removed before the bind.
    """


class EvictPod(msgspec.Struct, frozen=True, kw_only=True):
    """Evict the pod with that uid, with a reason."""

    namespace: str
    name: str
    uid: str
    reason: str


class RecordEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Write a Kubernetes Event on the object; equal events are counted, not repeated."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    type: str
    """Normal or Warning."""
    reason: str
    message: str
    aggregate: bool = False
    """Events whose messages differ only in numbers are one event, with the newest message."""


class PublishMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Publish a message on the bus."""

    message: Message


Effect: TypeAlias = (
    CreateObject | PatchObject | DeleteObject | BindPod | EvictPod | RecordEvent | PublishMessage
)
