"""Avoids requests for new content in namespaces that are being deleted.

The API server rejects every create and bind in such a namespace for as long as it exists. The first
rejection is remembered for `TERMINATING_SECONDS`, during which the same result is returned without
a request. A controller that retries for many pods then costs one round of requests, not one per pod
and attempt. Entries expire, because a new namespace may get the same name.
"""

from collections.abc import Callable
from typing import Final

from vc.cluster import ClusterError
from vc.messages.effects import BindPod, CreateObject, Effect, RecordEvent

TERMINATING_SECONDS: Final = 10.0
"""How long a rejection is remembered; the deletion of a namespace takes about as long."""

NAMESPACES_MAX: Final = 10_000
"""Limit of remembered namespaces. Beyond it all are dropped, which only costs requests."""


class NamespaceRejections:
    """Rejections that one service received, by namespace."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._refused: dict[str, tuple[float, str]] = {}
        """Expiry time and message of the rejection, by namespace."""

    def refusal(self, effect: Effect) -> str:
        """The API server's message if new content in the namespace was rejected recently;
        else empty.
        """
        namespace = _new_content_in(effect)
        if namespace not in self._refused:
            return ""
        until, message = self._refused[namespace]
        if self._monotonic() < until:
            return message
        del self._refused[namespace]
        return ""

    def answered(self, effect: Effect, error: ClusterError) -> bool:
        """Record an error response; returns whether it says that the namespace is being deleted."""
        namespace = _new_content_in(effect)
        if not namespace or not error.namespace_terminating:
            return False
        # Clearing is cheap and rare: the next request per namespace fills it again.
        if len(self._refused) >= NAMESPACES_MAX:
            self._refused.clear()
        self._refused[namespace] = (self._monotonic() + TERMINATING_SECONDS, error.message)
        return True


def _new_content_in(effect: Effect) -> str:
    """The namespace to which the effect adds an object; empty for other effects."""
    match effect:
        case CreateObject() | BindPod() | RecordEvent():
            return effect.namespace
        case _:
            return ""
