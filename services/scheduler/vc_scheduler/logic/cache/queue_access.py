"""Which namespaces may use which queue, as a session sees it: only queues that have an allow list."""

from vc_model.kubernetes import Namespace
from vc_model.queue_access import AllowList, allow_list
from vc_model.scheduling import Queue


class QueueAccess:
    """Lists by queue and labels by namespace; what follows from both is made anew when one changes."""

    def __init__(self) -> None:
        self._lists: dict[str, AllowList] = {}
        self._labels: dict[str, dict[str, str]] = {}
        self._table: dict[str, frozenset[str]] | None = {}

    def put_queue(self, queue: Queue, *, gone: bool) -> bool:
        """Take a queue in; whether a session could tell the difference."""
        name = queue.metadata.name
        before = self._lists.pop(name, None)
        after = None if gone else allow_list(queue.metadata.annotations)
        if after is not None:
            self._lists[name] = after
        if before != after:
            self._table = None
        return before != after

    def put_namespace(self, namespace: Namespace, *, gone: bool) -> bool:
        """Take a namespace in; whether a session could tell the difference."""
        name = namespace.metadata.name
        before = self._labels.pop(name, None)
        if not gone:
            self._labels[name] = namespace.metadata.labels
        changed = before != self._labels.get(name) and bool(self._lists)
        if changed:
            self._table = None
        return changed

    def table(self) -> dict[str, frozenset[str]]:
        """By queue with a list: the namespaces that may use it. Shared; nobody changes it."""
        if self._table is None:
            self._table = {
                queue: found.names
                | {name for name, labels in self._labels.items() if found.admits(name, labels)}
                for queue, found in sorted(self._lists.items())
            }
        return self._table
