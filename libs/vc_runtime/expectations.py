"""Waiting until we see our own writes.

A view lags behind what we just wrote. Deciding on it again would create what exists and count what
is gone; harmless, since effects are idempotent, but each costs the API server a request. So after a
decision a key rests until the view shows each write, or until progress has passed its version
(somebody else may have changed or removed the object since).
"""

from collections.abc import Iterable

import msgspec

from vc_messages.view import View
from vc_model.bounded import read_version
from vc_model.kinds import Kind
from vc_model.meta import object_key
from vc_model.struct import JsonObject


class _Write(msgspec.Struct, frozen=True):
    kind: Kind
    key: str
    version: int


class Expectations:
    """Per key of work, the writes its view has not shown yet."""

    def __init__(self) -> None:
        self._writes: dict[str, list[_Write]] = {}

    def expect(self, work_key: str, written: Iterable[tuple[Kind, JsonObject]]) -> None:
        """Remember objects as the API server returned them."""
        for kind, body in written:
            metadata = body["metadata"]
            version = metadata.get("resourceVersion", "")
            if number := read_version(version):
                key = object_key(metadata.get("namespace", ""), metadata["name"])
                self._writes.setdefault(work_key, []).append(_Write(kind, key, number))

    def unseen(self, work_key: str, view: View) -> bool:
        """Whether the view still has to show something we wrote for this key."""
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
        """The key is gone."""
        self._writes.pop(work_key, None)

    def clear(self) -> None:
        """Forget everything: the view is new."""
        self._writes.clear()


def _seen(write: _Write, view: View) -> bool:
    entry = view.entries(write.kind).get(write.key)
    if entry is not None and _number(entry.identity.resource_version) >= write.version:
        return True
    progress = view.progress(write.kind)
    return progress is not None and _number(progress.resource_version) >= write.version


def _number(version: str) -> int:
    return read_version(version)
