"""Ownership of existing objects, and the proof that an older owner is gone.

The view may be stale: an owner of the same name with another uid may be older or *newer* than the
one we know. Names are unique, so a live read decides: while the owner we act for exists, any other
owner of its name is gone. Without that proof nothing is deleted.
"""

import asyncio
import enum

from vc.cluster import Cluster, ConflictError, NotFoundError
from vc.messages.effects import CreateObject, LiveObject
from vc.model.api.meta import group_of_version
from vc.model.api.struct import JsonObject


class ObjectOwner(enum.Enum):
    """The ownership of an existing object with a wanted name."""

    OURS = "ours"
    NAMESAKES = "namesake's"
    """Its controller has the group, kind and name of ours, but another uid."""
    FOREIGN = "foreign"


def compare_owner(effect: CreateObject, existing: JsonObject) -> ObjectOwner:
    """Compares the group, kind, name and uid of the controllers."""
    owner, wanted = controller_in(existing), controller_in(effect.body)
    # The version of an apiVersion may differ for the same owner, so only its group counts.
    if not owner or _identity(owner) != _identity(wanted):
        return ObjectOwner.FOREIGN
    if owner.get("uid") == effect.owner_uid:
        return ObjectOwner.OURS
    # Without the owner's kind a live read is impossible, and nothing may be deleted without it.
    return ObjectOwner.FOREIGN if effect.owner_kind is None else ObjectOwner.NAMESAKES


def owner_of(effect: CreateObject) -> LiveObject:
    """The controller for which an object is created."""
    assert effect.owner_kind is not None, "an object without an owner is never replaced"
    return LiveObject(
        kind=effect.owner_kind,
        namespace=effect.namespace,
        name=str(controller_in(effect.body).get("name", "")),
        uid=effect.owner_uid,
    )


def controller_in(body: JsonObject) -> JsonObject:
    """The controlling owner reference; empty if there is none."""
    for owner in body.get("metadata", {}).get("ownerReferences") or []:
        if owner.get("controller"):
            found: JsonObject = owner
            return found
    return {}


def _identity(owner: JsonObject) -> tuple[str, str, str]:
    return (
        group_of_version(str(owner.get("apiVersion", ""))),
        str(owner.get("kind", "")),
        str(owner.get("name", "")),
    )


class LiveReads:
    """Reads owners from the API server; concurrent requests for the same owner share one read."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._under_way: dict[LiveObject, asyncio.Task[str]] = {}

    async def require(self, wanted: LiveObject) -> None:
        """Raises ConflictError unless the object with exactly that uid exists now."""
        found = await self._uid(wanted)
        if found == wanted.uid:
            return
        now = f"has uid {found!r}" if found else "does not exist"
        raise ConflictError(
            f"{wanted.kind.kind} {wanted.name!r} {now} and not uid {wanted.uid!r}: "
            "what was decided for that one is not done"
        )

    async def _uid(self, wanted: LiveObject) -> str:
        task = self._under_way.get(wanted)
        if task is None:
            task = asyncio.ensure_future(self._read(wanted))
            self._under_way[wanted] = task
            task.add_done_callback(lambda _: self._under_way.pop(wanted, None))
        # Other callers wait for the same read, so a cancelled caller must not cancel it.
        return await asyncio.shield(task)

    async def _read(self, wanted: LiveObject) -> str:
        try:
            found = await self._cluster.get(
                wanted.kind, name=wanted.name, namespace=wanted.namespace
            )
        except NotFoundError:
            return ""
        uid: str = found["metadata"]["uid"]
        return uid
