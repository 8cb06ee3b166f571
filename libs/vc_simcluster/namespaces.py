"""Namespaces: the four that are always there, and how one is emptied before it goes."""

from functools import partial
from typing import Final

from vc_cluster.errors import ForbiddenError
from vc_simcluster.builtin_resources import NAMESPACES
from vc_simcluster.failures import forbidden, not_found
from vc_simcluster.housekeeping import Housekeeping
from vc_simcluster.lifecycle import Lifecycle
from vc_simcluster.resource import Resource
from vc_simcluster.store import ADDED, DELETED, MODIFIED, Change, Store, Table

FIRST_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
NAMES_THE_CLUSTER: Final = "kube-system"
"""Its uid is the cluster's."""
_IMMORTAL: Final = frozenset({"default", "kube-public", "kube-system"})


class Namespaces:
    """Refuses content where there is no namespace, and ends the content of those that end."""

    def __init__(self, store: Store, lifecycle: Lifecycle, housekeeping: Housekeeping) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._housekeeping = housekeeping

    def check_open(self, resource: Resource, *, name: str, namespace: str) -> None:
        """Whether new content is taken; the errors are the API server's."""
        record = self._store.find(NAMESPACES, ("", namespace))
        if record is None:
            raise not_found(NAMESPACES, namespace)
        if record.deleting:
            raise _terminating(resource, name=name, namespace=namespace)

    @staticmethod
    def check_mortal(name: str) -> None:
        if name in _IMMORTAL:
            raise forbidden(NAMESPACES, name, "this namespace may not be deleted")

    def observe(self, table: Table, change: Change) -> None:
        record = change.record
        if table.resource.storage == NAMESPACES.storage:
            began = record.deleting and (change.previous is None or not change.previous.deleting)
            if change.type == MODIFIED and (began or (record.deleting and not record.finalizers)):
                self._housekeeping.add(partial(self._empty, record.name))
        elif change.type == DELETED and record.namespace:
            if not self._store.per_namespace.get(record.namespace):
                self._housekeeping.add(partial(self._finish, record.namespace))
        elif change.type == ADDED and record.namespace:
            holder = self._store.find(NAMESPACES, ("", record.namespace))
            if holder is not None and holder.deleting:
                self._housekeeping.add(partial(self._empty, record.namespace))

    def _empty(self, namespace: str) -> None:
        """Ask for the end of everything in it; what has a grace period or finalizers takes longer."""
        for table in self._store.tables():
            if not table.resource.namespaced:
                continue
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
        if record is not None and record.deleting and not held and not record.finalizers:
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
