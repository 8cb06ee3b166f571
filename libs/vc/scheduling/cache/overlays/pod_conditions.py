"""Conditions of pods that were decided and that no fact shows yet.

An entry overrides the fact of a pod from the moment its condition is decided, so that the next
session does not decide it again, until a fact arrives that is at least as new as the write. A
failed write is decided again after `RETRY_SECONDS`, for which the snapshot has a wake-up. Nothing
here outlives the process: a restarted scheduler reads the conditions of the pods.
"""

from collections.abc import Callable, Container, Iterator
from typing import Final

import msgspec

from vc.model.api.meta import object_key
from vc.model.api.pod import Pod
from vc.model.values.bounded import read_version
from vc.scheduling.model.decisions import WaitingPods

RETRY_SECONDS: Final = 10.0
"""The backoff after a condition that could not be written."""


class _Entry(msgspec.Struct):
    key: str
    group: str
    message: str
    version: int | None = None
    """The resourceVersion that the API server returned for the write."""
    retry_at: float | None = None
    """Set after a failed write: from then on the pod's own condition counts again."""


class ConditionOverlay:
    """One entry per pod, by uid; bounded by the number of waiting pods."""

    def __init__(self, mark: Callable[[str], object]) -> None:
        """`mark` is called with the key of a group whose row must be created again."""
        self._mark = mark
        self._entries: dict[str, _Entry] = {}
        self._of: dict[str, dict[str, None]] = {}
        """Uids with an entry, by group."""
        self._rewritten_at: dict[str, float] = {}
        """By group: when this process last wrote the messages of its pods."""

    def put(self, waiting: WaitingPods, *, now: float) -> None:
        """Record conditions that are going to be written."""
        uids = self._of.setdefault(waiting.group, {})
        for pod in waiting.pods:
            key = object_key(pod.namespace, pod.name)
            self._entries[pod.uid] = _Entry(key, waiting.group, waiting.message)
            uids[pod.uid] = None
        # Marking further pods must not delay the next rewrite, so only rewrites restart the interval.
        if waiting.rewrites or waiting.group not in self._rewritten_at:
            self._rewritten_at[waiting.group] = now
        self._mark(waiting.group)

    def written(self, uid: str, version: str) -> None:
        """The API server accepted the condition."""
        entry = self._entries.get(uid)
        if entry is not None:
            entry.version = read_version(version)

    def failed(self, uid: str, *, now: float) -> None:
        """The condition was not written."""
        entry = self._entries.get(uid)
        if entry is not None:
            entry.retry_at = now + RETRY_SECONDS

    def seen(self, pod: Pod) -> None:
        """A fact arrived. It counts again if it is as new as our write, or if the pod has a node."""
        entry = self._entries.get(pod.metadata.uid)
        if entry is None:
            return
        version = read_version(pod.metadata.resource_version)
        # Once the pod has a node, its condition is written by others.
        if pod.spec.node_name or (entry.version is not None and version >= entry.version):
            self.drop(pod.metadata.uid)

    def drop(self, uid: str) -> None:
        """Drop an entry; the pod's own condition counts again."""
        entry = self._entries.pop(uid, None)
        if entry is None:
            return
        uids = self._of[entry.group]
        uids.pop(uid, None)
        if not uids:
            del self._of[entry.group]
        # The row of the group contains the messages under way.
        self._mark(entry.group)

    def drop_group(self, group: str) -> None:
        """The group is deleted."""
        self._rewritten_at.pop(group, None)

    def forget_absent(self, keys: Container[str]) -> None:
        """The view is complete: drop the entries of pods that are not in it."""
        for uid in [uid for uid, entry in self._entries.items() if entry.key not in keys]:
            self.drop(uid)

    def expire(self, now: float) -> None:
        """Drop entries of failed writes after their backoff, so that they are decided again."""
        for uid, entry in list(self._entries.items()):
            if entry.retry_at is not None and entry.retry_at <= now:
                self.drop(uid)

    def shift(self, seconds: float) -> None:
        """The clock was changed."""
        for entry in self._entries.values():
            if entry.retry_at is not None:
                entry.retry_at += seconds
        for group, at in self._rewritten_at.items():
            self._rewritten_at[group] = at + seconds

    def expiries(self) -> Iterator[float]:
        """When failed writes are decided again."""
        return (entry.retry_at for entry in self._entries.values() if entry.retry_at is not None)

    def messages(self, group: str) -> dict[str, str]:
        """By uid, the messages being written to pods of a group."""
        return {uid: self._entries[uid].message for uid in self._of.get(group, ())}

    def rewritten_at(self, group: str) -> float:
        """When the messages of its pods were last written; 0 for never."""
        return self._rewritten_at.get(group, 0.0)
