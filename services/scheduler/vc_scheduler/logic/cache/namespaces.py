"""Namespaces that are being deleted: nothing is enqueued, bound or evicted for what is in them.

A namespace counts as terminating when its fact says so, or earlier, when the API server refused a bind for
that reason. It never comes back; one of the same name that is created later is another namespace.
"""

from vc_model.kubernetes import Namespace

TERMINATING = "Terminating"


class TerminatingNamespaces:
    """By name, with the uid as far as it is known."""

    def __init__(self) -> None:
        self._terminating: dict[str, None] = {}
        self._uids: dict[str, str] = {}

    def put(self, namespace: Namespace, *, gone: bool) -> bool:
        """Take a fact in; whether a session could tell the difference."""
        name, uid = namespace.metadata.name, namespace.metadata.uid
        before = name in self._terminating
        if gone or self._uids.get(name, uid) != uid:
            self._terminating.pop(name, None)
            self._uids.pop(name, None)
        if not gone:
            self._uids[name] = uid
            if namespace.metadata.deletion_timestamp or namespace.status.phase == TERMINATING:
                self._terminating[name] = None
        return before != (name in self._terminating)

    def refused(self, name: str) -> None:
        """The API server took no new content because the namespace is being deleted."""
        self._terminating[name] = None

    def names(self) -> frozenset[str]:
        """Only to be asked whether it contains."""
        return frozenset(self._terminating)
