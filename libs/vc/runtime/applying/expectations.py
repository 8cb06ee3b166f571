"""Waits until the view shows our own writes.

A view lags behind our writes. A decision on an outdated view would create objects that exist and
count objects that are gone. Effects are idempotent, so this is harmless, but each costs a request.
Therefore a key is not reconciled after a decision until the view shows each write, or until
progress has passed its version (another client may have changed or deleted the object since).
"""

from collections.abc import Iterable

import msgspec

from vc.messages.view import View
from vc.model.api.kinds import Kind
from vc.model.api.meta import object_key
from vc.model.api.struct import JsonObject
from vc.model.values.bounded import read_version


class _Write(msgspec.Struct, frozen=True):
    kind: Kind
    key: str
    version: int


class Expectations:
    """The writes that the view does not show yet, by work key."""

    def __init__(self) -> None:
        self._writes: dict[str, list[_Write]] = {}

    def expect(self, work_key: str, written: Iterable[tuple[Kind, JsonObject]]) -> None:
        """Remember objects as the API server returned them."""
        for kind, body in written:
            metadata = body["metadata"]
            version = metadata.get("resourceVersion", "")
            # Without a comparable version the write can never be recognised, so do not wait for it.
            if number := read_version(version):
                key = object_key(metadata.get("namespace", ""), metadata["name"])
                self._writes.setdefault(work_key, []).append(_Write(kind, key, number))

    def unseen(self, work_key: str, view: View) -> bool:
        """Whether the view does not show all writes for this key yet."""
        writes = self._writes.get(work_key)
        if not writes:
            return False
        left = [write for write in writes if not _seen(write, view)]
        if left:
            self._writes[work_key] = left
        else:
            del self._writes[work_key]
        return bool(left)

    def forget(self, work_key: str) -> None:
        """Drop the writes of a deleted key."""
        self._writes.pop(work_key, None)

    def clear(self) -> None:
        """Drop all writes, because the view was rebuilt."""
        self._writes.clear()


def _seen(write: _Write, view: View) -> bool:
    entry = view.entries(write.kind).get(write.key)
    if entry is not None and _number(entry.identity.resource_version) >= write.version:
        return True
    # An object that was deleted after our write never appears; progress beyond it is enough.
    progress = view.progress(write.kind)
    return progress is not None and _number(progress.resource_version) >= write.version


def _number(version: str) -> int:
    return read_version(version)
