"""Which namespaces may use a queue, for queues with an allow list."""

from vc.model.api.kubernetes import Namespace
from vc.model.api.scheduling import Queue
from vc.model.queue_access import AllowList, allow_list


class QueueAccess:
    """Allow lists by queue, and labels by namespace. A change of either invalidates the table."""

    def __init__(self) -> None:
        self._lists: dict[str, AllowList] = {}
        self._labels: dict[str, dict[str, str]] = {}
        self._table: dict[str, frozenset[str]] | None = {}

    def put_queue(self, queue: Queue, *, gone: bool) -> bool:
        """Apply a queue, and return whether a session could decide differently."""
        name = queue.metadata.name
        before = self._lists.pop(name, None)
        after = None if gone else allow_list(queue.metadata.annotations)
        if after is not None:
            self._lists[name] = after
        if before != after:
            self._table = None
        return before != after

    def put_namespace(self, namespace: Namespace, *, gone: bool) -> bool:
        """Apply a namespace, and return whether a session could decide differently."""
        name = namespace.metadata.name
        before = self._labels.pop(name, None)
        if not gone:
            self._labels[name] = namespace.metadata.labels
        # Without allow lists, which is the usual case, labels of namespaces do not matter.
        changed = before != self._labels.get(name) and bool(self._lists)
        if changed:
            self._table = None
        return changed

    def table(self) -> dict[str, frozenset[str]]:
        """By queue with an allow list: the namespaces that may use it. The table is shared and must
        not be changed."""
        if self._table is None:
            self._table = {
                queue: found.names
                | {name for name, labels in self._labels.items() if found.admits(name, labels)}
                for queue, found in sorted(self._lists.items())
            }
        return self._table
