"""Commands: what a decision wants done. Shells apply them; nothing here acts.

Each carries what makes it safe to apply late or twice: deterministic names on creates, the owner's
uid so that an existing object can be told to be ours, uid or resourceVersion on everything else.
"""

from typing import TypeAlias

import msgspec

from vc_messages.record import Message
from vc_model.kinds import Kind
from vc_model.struct import JsonObject


class _Effect(msgspec.Struct, frozen=True, kw_only=True):
    """A write to the cluster."""

    kind: Kind
    namespace: str = ""
    name: str


class LiveObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object that must exist with this uid when it is read at the API server."""

    kind: Kind
    namespace: str = ""
    name: str
    uid: str


class CreateObject(_Effect, frozen=True, kw_only=True):
    """Make it, unless it is there and ours."""

    body: JsonObject
    owner_uid: str = ""
    """Of the controller: AlreadyExists is success only if the existing object has it."""
    owner_kind: Kind | None = None
    """The controller's kind, where an object that an older controller of the same kind and name left is
    removed first; None: whatever another controller has is never touched."""


class PatchObject(_Effect, frozen=True, kw_only=True):
    """Merge-patch it; with uid and resourceVersion as preconditions where given."""

    patch: JsonObject
    subresource: str = ""
    uid: str = ""
    resource_version: str = ""


class DeleteObject(_Effect, frozen=True, kw_only=True):
    """End the object of that uid, and no other."""

    uid: str
    resource_version: str = ""
    """Where given, the object must not have changed since the decision saw it."""
    only_if_live: LiveObject | None = None
    """Whatever else had this one's name is proven gone by a live read of it: a view may be stale."""
    grace_seconds: int | None = None
    propagation: str = ""


class BindPod(msgspec.Struct, frozen=True, kw_only=True):
    """Put the pod of that uid on a node."""

    namespace: str
    name: str
    uid: str
    node: str
    lifts_gate: bool = False
    """It has Volcano's own scheduling gate, and no other: nobody can bind it before that is lifted."""


class EvictPod(msgspec.Struct, frozen=True, kw_only=True):
    """Take the pod of that uid off its node, and say why."""

    namespace: str
    name: str
    uid: str
    reason: str


class RecordEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Tell the people who look at the object; equal events are counted, not repeated."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    type: str
    """Normal or Warning."""
    reason: str
    message: str
    aggregate: bool = False
    """Events of the object that differ in the numbers of their messages are one, with the newest message."""


class PublishMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Put a message on the bus."""

    message: Message


Effect: TypeAlias = (
    CreateObject | PatchObject | DeleteObject | BindPod | EvictPod | RecordEvent | PublishMessage
)
