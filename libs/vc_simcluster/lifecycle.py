"""How an object ends: grace periods, finalizers, and what happens to its dependents.

Everything here is synchronous and writes the store directly. The verbs of `Api` come through here
after admission; the garbage collector, namespaces and simulated nodes come here themselves.
"""

from collections.abc import Callable
from typing import Final

from vc_clock import Clock
from vc_model.struct import JsonObject
from vc_model.times import format_time
from vc_simcluster.builtin_resources import NAMESPACES, PODS
from vc_simcluster.failures import bad_request
from vc_simcluster.pod_defaults import GRACE_SECONDS_DEFAULT
from vc_simcluster.resource import Resource
from vc_simcluster.store import Key, Record, Store
from vc_simcluster.updates import check_preconditions

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_FINISHED: Final = ("Succeeded", "Failed")


class Lifecycle:
    """Ends objects, and finishes those whose end was waited for."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def write(self, resource: Resource, obj: JsonObject) -> Record | None:
        """Write a changed object; None when that was the last it waited for and it is gone."""
        meta = obj["metadata"]
        if _is_over(resource, meta):
            self._store.remove(resource, (meta.get("namespace", ""), meta["name"]))
            return None
        return self._store.put(resource, obj)

    def edit(self, resource: Resource, key: Key, change: Callable[[JsonObject], None]) -> bool:
        """Change a stored object in place, if it is still there."""
        record = self._store.find(resource, key)
        if record is None:
            return False
        obj = record.object()
        change(obj)
        self.write(resource, obj)
        return True

    def delete(self, resource: Resource, record: Record, options: JsonObject) -> JsonObject | None:
        """Begin the end of an object: the object while it waits, None when it is gone."""
        obj = self.condemned(resource, record, options)
        if obj is None:
            self._store.remove(resource, record.key)
            return None
        before = record.object()["metadata"]
        if obj["metadata"] == before:
            return obj  # asked before
        return self._store.put(resource, obj).object()

    def condemned(
        self, resource: Resource, record: Record, options: JsonObject
    ) -> JsonObject | None:
        """The object as the deletion would leave it; None when it would be gone at once."""
        obj = record.object()
        meta = obj["metadata"]
        check_preconditions(resource, meta, options.get("preconditions") or {})
        _propagate(resource, meta, options)
        grace = _grace_seconds(resource, obj, options)
        if "deletionTimestamp" in meta:
            earlier = meta.get("deletionGracePeriodSeconds") or 0
            if grace >= earlier:
                grace = earlier
            elif grace < earlier:
                self._stamp(meta, grace)
        elif grace or meta.get("finalizers") or resource.storage == NAMESPACES.storage:
            self._stamp(meta, grace)
        else:
            return None
        if resource.storage == NAMESPACES.storage:
            obj.setdefault("status", {})["phase"] = "Terminating"
        return None if _is_over(resource, meta) else obj

    def _stamp(self, meta: JsonObject, grace: int) -> None:
        meta["deletionTimestamp"] = format_time(self._clock.now() + grace)
        meta["deletionGracePeriodSeconds"] = grace
        if "generation" in meta:
            meta["generation"] += 1


def _is_over(resource: Resource, meta: JsonObject) -> bool:
    """Nothing holds it any more. A namespace is held by what it contains: see `namespaces`."""
    return (
        "deletionTimestamp" in meta
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
        and resource.storage != NAMESPACES.storage
    )


def _grace_seconds(resource: Resource, obj: JsonObject, options: JsonObject) -> int:
    """Only pods end slowly, and only those that a node runs."""
    asked = options.get("gracePeriodSeconds")
    if asked is not None and (not isinstance(asked, int) or isinstance(asked, bool)):
        raise bad_request(f"gracePeriodSeconds: {asked!r} is not an integer")
    if asked is not None and asked < 0:
        asked = 1
    if resource.storage != PODS.storage:
        return 0
    spec = obj.get("spec") or {}
    if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in _FINISHED:
        return 0
    own = spec.get("terminationGracePeriodSeconds", GRACE_SECONDS_DEFAULT)
    grace: int = own if asked is None else asked
    return max(grace, 0)


def _propagate(resource: Resource, meta: JsonObject, options: JsonObject) -> None:
    """Note in the finalizers what shall happen to dependents."""
    policy = options.get("propagationPolicy")
    if policy is None and options.get("orphanDependents") is not None:
        policy = "Orphan" if options["orphanDependents"] else "Background"
    if policy is None:
        if meta.get("finalizers") and {FOREGROUND, ORPHAN} & set(meta["finalizers"]):
            return
        # batch/v1 Jobs keep their pods unless asked otherwise, for clients older than the choice
        policy = "Orphan" if resource.storage == ("batch", "jobs") else "Background"
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}.get(policy)
    if wanted is None:
        raise bad_request(f"propagationPolicy: {policy!r}: use Foreground, Background or Orphan")
    finalizers = [f for f in meta.get("finalizers") or [] if f not in (FOREGROUND, ORPHAN)]
    finalizers += [wanted] if wanted else []
    meta.pop("finalizers", None)
    if finalizers:
        meta["finalizers"] = finalizers
