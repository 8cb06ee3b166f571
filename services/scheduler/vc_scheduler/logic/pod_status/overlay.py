"""Conditions of pods that we decided and that no fact shows yet.

A note stands over a pod's fact from the moment its condition is decided, so that the next session does
not decide it again, until a fact at least as new as the write has come. A write that failed is decided
again after `RETRY_SECONDS`; the snapshot names that time. Nothing here outlives the process: a restarted
scheduler reads the conditions off the pods.
"""

from collections.abc import Callable, Container, Iterator
from typing import Final

import msgspec

from vc_model.bounded import read_version
from vc_model.meta import object_key
from vc_model.pod import Pod
from vc_scheduler.logic.decisions import WaitingPods

RETRY_SECONDS: Final = 10.0
"""After a condition that could not be written."""


class _Note(msgspec.Struct):
    key: str
    group: str
    message: str
    version: int | None = None
    """resourceVersion that the API server gave the write."""
    retry_at: float | None = None
    """The write failed: the pod's own condition counts again from then on."""


class ConditionOverlay:
    """One note a pod, by uid; bounded by the pods that wait."""

    def __init__(self, mark: Callable[[str], object]) -> None:
        """`mark` is called with the key of a group whose row is to be made again."""
        self._mark = mark
        self._notes: dict[str, _Note] = {}
        self._of: dict[str, dict[str, None]] = {}
        """Uids with a note, by group."""
        self._rewritten_at: dict[str, float] = {}
        """By group: when its pods' messages were last written, in this process."""

    def put(self, waiting: WaitingPods, *, now: float) -> None:
        """We are going to write these conditions."""
        uids = self._of.setdefault(waiting.group, {})
        for pod in waiting.pods:
            key = object_key(pod.namespace, pod.name)
            self._notes[pod.uid] = _Note(key, waiting.group, waiting.message)
            uids[pod.uid] = None
        if waiting.rewrites or waiting.group not in self._rewritten_at:
            self._rewritten_at[waiting.group] = now
        self._mark(waiting.group)

    def written(self, uid: str, version: str) -> None:
        """The API server took it."""
        note = self._notes.get(uid)
        if note is not None:
            note.version = read_version(version)

    def failed(self, uid: str, *, now: float) -> None:
        """It was not written."""
        note = self._notes.get(uid)
        if note is not None:
            note.retry_at = now + RETRY_SECONDS

    def seen(self, pod: Pod) -> None:
        """A fact: it counts again when it is as new as what we wrote, or the pod has a node."""
        note = self._notes.get(pod.metadata.uid)
        if note is None:
            return
        version = read_version(pod.metadata.resource_version)
        if pod.spec.node_name or (note.version is not None and version >= note.version):
            self.drop(pod.metadata.uid)

    def drop(self, uid: str) -> None:
        """The pod's own condition counts."""
        note = self._notes.pop(uid, None)
        if note is None:
            return
        uids = self._of[note.group]
        uids.pop(uid, None)
        if not uids:
            del self._of[note.group]
        self._mark(note.group)

    def drop_group(self, group: str) -> None:
        """The group is gone."""
        self._rewritten_at.pop(group, None)

    def forget_absent(self, keys: Container[str]) -> None:
        """The view is complete: notes of pods that are not in it are over."""
        for uid in [uid for uid, note in self._notes.items() if note.key not in keys]:
            self.drop(uid)

    def expire(self, now: float) -> None:
        """Writes that failed long enough ago are to be decided again."""
        for uid, note in list(self._notes.items()):
            if note.retry_at is not None and note.retry_at <= now:
                self.drop(uid)

    def shift(self, seconds: float) -> None:
        """The clock was set."""
        for note in self._notes.values():
            if note.retry_at is not None:
                note.retry_at += seconds
        for group, at in self._rewritten_at.items():
            self._rewritten_at[group] = at + seconds

    def expiries(self) -> Iterator[float]:
        """When writes that failed are decided again."""
        return (note.retry_at for note in self._notes.values() if note.retry_at is not None)

    def messages(self, group: str) -> dict[str, str]:
        """By uid, what pods of a group are going to say."""
        return {uid: self._notes[uid].message for uid in self._of.get(group, ())}

    def rewritten_at(self, group: str) -> float:
        """When its pods' messages were last written; 0 for never."""
        return self._rewritten_at.get(group, 0.0)
