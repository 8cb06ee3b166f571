"""Garbage collection by owner references: an object is deleted when its last owner is gone.

Owners are identified by uid, so another object with the same name does not keep dependents. The
collector maintains two indexes (live objects, dependents by owner) from the changes it observes.
Each consequence of a change is one background step.
"""

from functools import partial
from typing import TypeAlias

import msgspec

from vc.model.api.struct import JsonObject
from vc.simcluster.controllers.lifecycle import FOREGROUND, ORPHAN, Lifecycle
from vc.simcluster.store.background import BackgroundSteps
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.store import DELETED, Change, Key, Record, Store, Table

Place: TypeAlias = tuple[tuple[str, str], Key]
"""Storage and key of an object."""


class Owners(msgspec.Struct, frozen=True, kw_only=True):
    """The owner references of an object, by the state of the owners."""

    solid: list[JsonObject]
    dangling: list[JsonObject]
    waiting: list[JsonObject]
    """References to owners in foreground deletion, which wait for this object."""


class GarbageCollector:
    """Observes all changes. Deletes or orphans dependents and removes finalizers of owners."""

    def __init__(self, store: Store, lifecycle: Lifecycle, background: BackgroundSteps) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._background = background
        self._alive: dict[str, tuple[Resource, Key]] = {}
        self._dependents: dict[str, dict[Place, Resource]] = {}
        """Dependents by the owner's uid, in insertion order, so that runs are repeatable."""

    def observe(self, table: Table, change: Change) -> None:
        """Update the indexes and queue the consequences of the change."""
        record, previous, resource = change.record, change.previous, table.resource
        place = (resource.storage, record.key)
        if change.type == DELETED:
            self._forget(record, place)
            return
        # The index is keyed by uid, because a reference to a replaced owner must not match.
        self._alive[record.uid] = (resource, record.key)
        before = previous.owners if previous else ()
        if record.owners != before:
            for uid in before:
                self._drop_dependent(uid, place)
            for uid in record.owners:
                self._dependents.setdefault(uid, {})[place] = resource
            # Judged in a later step, because listeners of the store must not write.
            self._background.add(partial(self._judge, resource, record.key))
        if record.deleting and (FOREGROUND in record.finalizers or ORPHAN in record.finalizers):
            self._background.add(partial(self._end_dependents, resource, record.key))

    def _forget(self, record: Record, place: Place) -> None:
        self._alive.pop(record.uid, None)
        for uid in record.owners:
            self._drop_dependent(uid, place)
            # An owner in foreground deletion may have waited for this object only.
            owner = self._alive.get(uid)
            if owner is not None and self._is_waiting(uid):
                self._background.add(partial(self._end_dependents, *owner))
        # Each dependent is examined by itself, because it may have other owners that still exist.
        for (_, key), dependent in list(self._dependents.get(record.uid, {}).items()):
            self._background.add(partial(self._judge, dependent, key))

    def _drop_dependent(self, uid: str, place: Place) -> None:
        known = self._dependents.get(uid)
        if known is not None:
            known.pop(place, None)
            if not known:
                del self._dependents[uid]

    def _judge(self, resource: Resource, key: Key) -> None:
        """Delete the object if it has no live owner, or remove its references to dead owners."""
        record = self._store.find(resource, key)
        # A terminating object needs no second deletion, and one without references is kept.
        if record is None or record.deleting or not record.owners:
            return
        owners = self._owners(record)
        # One live owner is enough to keep the object.
        if owners.solid:
            if owners.dangling or owners.waiting:
                # As in Kubernetes, references to waiting owners are dropped as well: an object that
                # stays must not block the deletion of such an owner.
                self._lifecycle.edit(resource, key, partial(_keep_owners, refs=owners.solid))
            return
        if ORPHAN in record.finalizers:
            policy = "Orphan"
        # A dependent with dependents of its own is deleted in the foreground, too: the owner waits
        # for the whole tree.
        elif FOREGROUND in record.finalizers or (owners.waiting and record.uid in self._dependents):
            policy = "Foreground"
        else:
            policy = "Background"
        options: JsonObject = {"propagationPolicy": policy, "preconditions": {"uid": record.uid}}
        self._lifecycle.delete(resource, record, options)

    def _owners(self, record: Record) -> Owners:
        solid, dangling, waiting = [], [], []
        for ref in record.object()["metadata"].get("ownerReferences") or []:
            owner = self._alive.get(ref["uid"])
            # An owner in another namespace is invalid and counts as absent, as in Kubernetes.
            # An owner without a namespace is cluster-scoped and may own objects in every namespace.
            elsewhere = owner is not None and owner[1][0] not in ("", record.namespace)
            if owner is None or elsewhere:
                dangling.append(ref)
            elif self._is_waiting(ref["uid"]):
                waiting.append(ref)
            else:
                solid.append(ref)
        return Owners(solid=solid, dangling=dangling, waiting=waiting)

    def _is_waiting(self, uid: str) -> bool:
        """Whether the live object with that uid is in foreground deletion."""
        resource, key = self._alive[uid]
        record = self._store.find(resource, key)
        return record is not None and record.deleting and FOREGROUND in record.finalizers

    def _end_dependents(self, resource: Resource, key: Key) -> None:
        """Delete or orphan the dependents of a waiting owner, then remove its finalizer."""
        record = self._store.find(resource, key)
        if record is None or not record.deleting:
            return
        if ORPHAN in record.finalizers:
            # The references are removed first: without the finalizer the owner disappears at once,
            # and its dependents would be collected.
            self._orphan(record)
            self._lifecycle.edit(resource, key, partial(_drop_finalizer, name=ORPHAN))
        elif FOREGROUND in record.finalizers:
            # A copy, because a dependent may be removed at once and then leaves the index.
            for (_, dependent_key), dependent in list(self._dependents.get(record.uid, {}).items()):
                self._judge(dependent, dependent_key)
            if not self._is_blocked(record.uid):
                self._lifecycle.edit(resource, key, partial(_drop_finalizer, name=FOREGROUND))

    def _orphan(self, owner: Record) -> None:
        for (_, key), dependent in list(self._dependents.get(owner.uid, {}).items()):
            self._lifecycle.edit(dependent, key, partial(_drop_owner, uid=owner.uid))

    def _is_blocked(self, uid: str) -> bool:
        """Whether a dependent still blocks the owner's deletion by `blockOwnerDeletion`."""
        # Dependents without the flag do not delay the owner; they are collected after it.
        for (_, key), dependent in self._dependents.get(uid, {}).items():
            record = self._store.find(dependent, key)
            refs = record.object()["metadata"].get("ownerReferences") or [] if record else []
            if any(ref["uid"] == uid and ref.get("blockOwnerDeletion") for ref in refs):
                return True
        return False


def _keep_owners(obj: JsonObject, *, refs: list[JsonObject]) -> None:
    obj["metadata"]["ownerReferences"] = refs


def _drop_owner(obj: JsonObject, *, uid: str) -> None:
    refs = [ref for ref in obj["metadata"].get("ownerReferences") or [] if ref["uid"] != uid]
    # An empty list is left out, as the API server omits empty fields.
    obj["metadata"].pop("ownerReferences", None)
    if refs:
        obj["metadata"]["ownerReferences"] = refs


def _drop_finalizer(obj: JsonObject, *, name: str) -> None:
    kept = [one for one in obj["metadata"].get("finalizers") or [] if one != name]
    obj["metadata"].pop("finalizers", None)
    if kept:
        obj["metadata"]["finalizers"] = kept
