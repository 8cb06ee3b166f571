"""Namespaces that are being deleted take no new content: not asked again and again.

The API server refuses every create and every bind in such a namespace, for as long as it exists. The first
refusal is remembered for `TERMINATING_SECONDS`; meanwhile the same answer is given without a request, so
that a controller which tries again, for many pods, costs the API server one round of requests
and not one for each pod and attempt. The memory ends by itself, because a new namespace may get the name.
"""

from collections.abc import Callable
from typing import Final

from vc_cluster import ClusterError
from vc_messages.effects import BindPod, CreateObject, Effect, RecordEvent

TERMINATING_SECONDS: Final = 10.0
"""How long a refusal is believed; the deletion of a namespace takes about as long."""

NAMESPACES_MAX: Final = 10_000
"""Remembered at a time; beyond that all are forgotten, which costs requests and nothing else."""


class TerminatingNamespaces:
    """What one service was refused, by namespace."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._refused: dict[str, tuple[float, str]] = {}
        """Until when, and with which message."""

    def refusal(self, effect: Effect) -> str:
        """The API server's message, when the same effect was refused a moment ago; else empty."""
        namespace = _new_content_in(effect)
        if namespace not in self._refused:
            return ""
        until, message = self._refused[namespace]
        if self._monotonic() < until:
            return message
        del self._refused[namespace]
        return ""

    def answered(self, effect: Effect, error: ClusterError) -> bool:
        """Take an answer in; whether it says that the namespace is being deleted."""
        namespace = _new_content_in(effect)
        if not namespace or not error.namespace_terminating:
            return False
        if len(self._refused) >= NAMESPACES_MAX:
            self._refused.clear()
        self._refused[namespace] = (self._monotonic() + TERMINATING_SECONDS, error.message)
        return True


def _new_content_in(effect: Effect) -> str:
    """The namespace that the effect adds something to; empty for any other effect."""
    match effect:
        case CreateObject() | BindPod() | RecordEvent():
            return effect.namespace
        case _:
            return ""
