"""Deletion of objects: grace periods, finalizers, and the policy for dependents.

All functions are synchronous and write the store directly. The verbs of `Api` call them after
admission. The garbage collector, namespaces and simulated nodes call them without admission.
"""

from collections.abc import Callable
from typing import Final

from vc.clock import Clock
from vc.model.api.struct import JsonObject
from vc.model.values.times import format_time
from vc.simcluster.schema.builtin_resources import NAMESPACES, PODS
from vc.simcluster.schema.pod_defaults import GRACE_SECONDS_DEFAULT
from vc.simcluster.schema.updates import check_preconditions
from vc.simcluster.store.failures import bad_request
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.store import Key, Record, Store

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_FINISHED: Final = ("Succeeded", "Failed")


class Lifecycle:
    """Deletes objects, and removes those whose finalizers and grace period are over."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def write(self, resource: Resource, obj: JsonObject) -> Record | None:
        """Write a changed object. Return None if it was terminating and is now removed."""
        meta = obj["metadata"]
        # Removing the last finalizer is an ordinary update, so every write checks for the end.
        if _is_over(resource, meta):
            self._store.remove(resource, (meta.get("namespace", ""), meta["name"]))
            return None
        return self._store.put(resource, obj)

    def edit(self, resource: Resource, key: Key, change: Callable[[JsonObject], None]) -> bool:
        """Change a stored object in place. Return False if it does not exist."""
        record = self._store.find(resource, key)
        if record is None:
            return False
        obj = record.object()
        change(obj)
        self.write(resource, obj)
        return True

    def delete(self, resource: Resource, record: Record, options: JsonObject) -> JsonObject | None:
        """Start the deletion. Return the terminating object, or None if it was removed at once."""
        obj = self.after_deletion(resource, record, options)
        # Nothing delays the removal, so watchers see a single DELETED event.
        if obj is None:
            self._store.remove(resource, record.key)
            return None
        before = record.object()["metadata"]
        if obj["metadata"] == before:
            return obj  # the same deletion was requested before
        return self._store.put(resource, obj).object()

    def after_deletion(
        self, resource: Resource, record: Record, options: JsonObject
    ) -> JsonObject | None:
        """The object as the deletion would leave it, or None if it would be removed at once."""
        obj = record.object()
        meta = obj["metadata"]
        # Before anything is changed: a failed precondition must have no effect.
        check_preconditions(resource, meta, options.get("preconditions") or {})
        _propagate(resource, meta, options)
        grace = _grace_seconds(resource, obj, options)
        # A second deletion may shorten the grace period but never extend it.
        if "deletionTimestamp" in meta:
            earlier = meta.get("deletionGracePeriodSeconds") or 0
            if grace >= earlier:
                grace = earlier
            elif grace < earlier:
                self._stamp(meta, grace)
        # A namespace always terminates first: its content has to be deleted before it.
        elif grace or meta.get("finalizers") or resource.storage == NAMESPACES.storage:
            self._stamp(meta, grace)
        else:
            return None
        if resource.storage == NAMESPACES.storage:
            obj.setdefault("status", {})["phase"] = "Terminating"
        return None if _is_over(resource, meta) else obj

    def _stamp(self, meta: JsonObject, grace: int) -> None:
        # The end of the grace period and not the time of the request, as in Kubernetes.
        meta["deletionTimestamp"] = format_time(self._clock.now() + grace)
        meta["deletionGracePeriodSeconds"] = grace
        # The API server counts the start of a deletion as a change of the wanted state.
        if "generation" in meta:
            meta["generation"] += 1


def _is_over(resource: Resource, meta: JsonObject) -> bool:
    """Whether nothing delays the removal any more. For namespaces see `verbs.namespaces`."""
    return (
        "deletionTimestamp" in meta
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
        and resource.storage != NAMESPACES.storage
    )


def _grace_seconds(resource: Resource, obj: JsonObject, options: JsonObject) -> int:
    """The grace period of a deletion. Only pods on a node that have not finished have one."""
    requested = options.get("gracePeriodSeconds")
    # A JSON boolean is an int in Python, but it is no number of seconds.
    if requested is not None and (not isinstance(requested, int) or isinstance(requested, bool)):
        raise bad_request(f"gracePeriodSeconds: {requested!r} is not an integer")
    # A negative value means one second, as in the API server.
    if requested is not None and requested < 0:
        requested = 1
    if resource.storage != PODS.storage:
        return 0
    spec = obj.get("spec") or {}
    # Without a node no kubelet would confirm the end, and a finished pod has nothing to stop.
    if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in _FINISHED:
        return 0
    # The request overrides the pod's own grace period, as with `kubectl delete --grace-period`.
    own = spec.get("terminationGracePeriodSeconds", GRACE_SECONDS_DEFAULT)
    grace: int = own if requested is None else requested
    return max(grace, 0)


def _propagate(resource: Resource, meta: JsonObject, options: JsonObject) -> None:
    """Record the propagation policy in the finalizers, as the API server does."""
    policy = options.get("propagationPolicy")
    if policy is None and options.get("orphanDependents") is not None:
        # The older form of the option; old clients still send it.
        policy = "Orphan" if options["orphanDependents"] else "Background"
    if policy is None:
        # A second deletion without a policy must not undo the policy of the first one.
        if meta.get("finalizers") and {FOREGROUND, ORPHAN} & set(meta["finalizers"]):
            return
        # batch/v1 Jobs orphan their pods by default, for clients that predate propagation policies
        policy = "Orphan" if resource.storage == ("batch", "jobs") else "Background"
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}.get(policy)
    if wanted is None:
        raise bad_request(f"propagationPolicy: {policy!r}: use Foreground, Background or Orphan")
    finalizers = [f for f in meta.get("finalizers") or [] if f not in (FOREGROUND, ORPHAN)]
    finalizers += [wanted] if wanted else []
    meta.pop("finalizers", None)
    if finalizers:
        meta["finalizers"] = finalizers
