"""Namespaces that are being deleted: nothing is enqueued, bound or evicted for jobs in them.

A namespace counts as terminating if its fact shows it, or earlier, if the API server refused a bind
for that reason. It never becomes active again; a later namespace of the same name has another uid.
"""

from vc.model.api.kubernetes import Namespace

TERMINATING = "Terminating"


class TerminatingNamespaces:
    """Terminating namespaces by name, and the uids of all namespaces as far as they are known."""

    def __init__(self) -> None:
        self._terminating: dict[str, None] = {}
        self._uids: dict[str, str] = {}

    def put(self, namespace: Namespace, *, gone: bool) -> bool:
        """Apply a fact, and return whether a session could decide differently."""
        name, uid = namespace.metadata.name, namespace.metadata.uid
        before = name in self._terminating
        # A new namespace of the same name starts as active.
        if gone or self._uids.get(name, uid) != uid:
            self._terminating.pop(name, None)
            self._uids.pop(name, None)
        if not gone:
            self._uids[name] = uid
            if namespace.metadata.deletion_timestamp or namespace.status.phase == TERMINATING:
                self._terminating[name] = None
        return before != (name in self._terminating)

    def refused(self, name: str) -> None:
        """The API server rejected new content because the namespace is being deleted."""
        self._terminating[name] = None

    def names(self) -> frozenset[str]:
        """The names of terminating namespaces. Use it for membership tests only."""
        return frozenset(self._terminating)
