"""Namespaces: the four that always exist, and the deletion of a namespace's content."""

from functools import partial
from typing import Final

from vc.cluster.errors import ForbiddenError
from vc.simcluster.controllers.lifecycle import Lifecycle
from vc.simcluster.schema.builtin_resources import NAMESPACES
from vc.simcluster.store.background import BackgroundSteps
from vc.simcluster.store.failures import forbidden, not_found
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.store import ADDED, DELETED, MODIFIED, Change, Store, Table

FIRST_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
NAMES_THE_CLUSTER: Final = "kube-system"
"""The uid of this namespace identifies the cluster."""
_UNDELETABLE: Final = frozenset({"default", "kube-public", "kube-system"})


class Namespaces:
    """Rejects new content without a namespace, and deletes the content of terminating
    namespaces.
    """

    def __init__(self, store: Store, lifecycle: Lifecycle, background: BackgroundSteps) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._background = background

    def check_open(self, resource: Resource, *, name: str, namespace: str) -> None:
        """Raise the API server's error unless the namespace exists and is not terminating."""
        record = self._store.find(NAMESPACES, ("", namespace))
        if record is None:
            raise not_found(NAMESPACES, namespace)
        # Otherwise new objects could keep the namespace from ever becoming empty.
        if record.deleting:
            raise _terminating(resource, name=name, namespace=namespace)

    @staticmethod
    def check_deletable(name: str) -> None:
        if name in _UNDELETABLE:
            raise forbidden(NAMESPACES, name, "this namespace may not be deleted")

    def observe(self, table: Table, change: Change) -> None:
        # The content is deleted when the deletion begins, and again when the last finalizer is
        # removed.
        record = change.record
        if table.resource.storage == NAMESPACES.storage:
            began = record.deleting and (change.previous is None or not change.previous.deleting)
            if change.type == MODIFIED and (began or (record.deleting and not record.finalizers)):
                self._background.add(partial(self._empty, record.name))
        elif change.type == DELETED and record.namespace:
            # The last object of a terminating namespace decides when the namespace itself is
            # removed.
            if not self._store.per_namespace.get(record.namespace):
                self._background.add(partial(self._finish, record.namespace))
        elif change.type == ADDED and record.namespace:
            # An object can be stored after the deletion began, because webhooks are awaited in
            # between.
            holder = self._store.find(NAMESPACES, ("", record.namespace))
            if holder is not None and holder.deleting:
                self._background.add(partial(self._empty, record.namespace))

    def _empty(self, namespace: str) -> None:
        """Delete all content of a namespace. Grace periods and finalizers may delay the end."""
        for table in self._store.tables():
            if not table.resource.namespaced:
                continue
            # The keys are copied: deleting one object can remove others while this loop runs.
            for key in [key for key in table.keys if key[0] == namespace]:
                record = table.records.get(key)
                if record is not None and not record.deleting:
                    self._lifecycle.delete(
                        table.resource, record, {"propagationPolicy": "Background"}
                    )
        self._finish(namespace)

    def _finish(self, namespace: str) -> None:
        record = self._store.find(NAMESPACES, ("", namespace))
        held = self._store.per_namespace.get(namespace)
        # Finalizers of other controllers keep an empty namespace until they are removed.
        if record is not None and record.deleting and not held and not record.finalizers:
            # The count goes with the namespace, or the map would keep every name ever used.
            self._store.per_namespace.pop(namespace, None)
            self._store.remove(NAMESPACES, record.key)


def _terminating(resource: Resource, *, name: str, namespace: str) -> ForbiddenError:
    error = forbidden(
        resource,
        name,
        f"unable to create new content in namespace {namespace} because it is being terminated",
    )
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    error.details["causes"] = [cause]
    return error
