"""Writes what sessions saw as frames: see `frames.py`.

The writer remembers the snapshot of the last frame. Snapshots are immutable and share their rows, so
remembering one costs the arrays of its nodes.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from vc_scheduler.logic import frames
from vc_scheduler.logic.frames import LENGTH_BYTES, NODES_A_PIECE, ChangedRows, encoder
from vc_scheduler.logic.snapshot import Snapshot
from vc_scheduler.logic.table import NodeTable, StaticTable

COMPRESSION_LEVEL: Final = 1
"""Rows repeat one another: the fastest takes nine tenths away."""


class FrameTooLargeError(ValueError):
    """The input takes more room than one record may have."""


class FrameWriter:
    """Frames of one chain, one after the other."""

    def __init__(self, bytes_max: int, *, breathe: Callable[[], None] = lambda: None) -> None:
        """`breathe` is called after each piece: whoever writes beside others may wait there."""
        self._bytes_max = bytes_max
        self._breathe = breathe
        self._last: Snapshot | None = None
        self._whole: dict[str, bytes] = {}
        """Of the last frame, by field."""

    def forget(self) -> None:
        """The next frame is a base."""
        self._last, self._whole = None, {}

    def frame(self, snapshot: Snapshot) -> bytes:
        """The difference to the frame before; the writer forgets when it cannot be written."""
        try:
            frame = self._packed(snapshot)
        except BaseException:
            self.forget()
            raise
        self._last = snapshot
        return frame

    def _packed(self, snapshot: Snapshot) -> bytes:
        packer = zlib.compressobj(COMPRESSION_LEVEL)
        parts: list[bytes] = []
        size = 0
        for piece in self._pieces(snapshot):
            parts.append(packer.compress(len(piece).to_bytes(LENGTH_BYTES, "big") + piece))
            size += len(parts[-1])
            self._breathe()
            if size > self._bytes_max:
                raise FrameTooLargeError(f"its input takes more than {self._bytes_max} bytes")
        return b"".join([*parts, packer.flush()])

    def _pieces(self, snapshot: Snapshot) -> Iterator[bytes]:
        for field in frames.whole_fields():
            piece = _piece(frames.WHOLE, field, "", getattr(snapshot, field))
            if self._whole.get(field) != piece:
                self._whole[field] = piece
                yield piece
        for field in frames.row_fields():
            before = getattr(self._last, field) if self._last is not None else {}
            yield from _rows(field, before, getattr(snapshot, field))
        yield _piece(frames.KEYS, "groups", "", [group.key for group in snapshot.groups])
        yield from _nodes(self._last.nodes if self._last is not None else None, snapshot.nodes)


def _piece(operation: str, field: str, key: str, value: Any) -> bytes:
    return encoder.encode((operation, field, key, value))


def _rows(field: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[bytes]:
    """What changed; whoever walks over the rows again does so in the same order."""
    new: list[str] = []
    for key, row in after.items():
        known = before.get(key)
        if known is None:
            new.append(key)
        if known is None or (known is not row and known != row):
            yield _piece(frames.ROW, field, key, row)
    gone = [key for key in before if key not in after]
    if gone:
        yield _piece(frames.GONE, field, "", gone)
    kept = [key for key in before if key in after] if gone else list(before)
    order = list(after)
    if kept + new != order:
        yield _piece(frames.ORDER, field, "", order)


def _nodes(before: NodeTable | None, after: NodeTable) -> Iterator[bytes]:
    known = before.static if before is not None else None
    if known is not after.static:
        yield from _facts(known, after.static)
    same = (
        before is not None
        and before.static.names == after.static.names
        and before.resources == after.resources
    )
    if not same:
        yield _piece(frames.NODES, "resources", "", after.resources)
    for name in frames.node_arrays():
        new = getattr(after, name)
        at = np.flatnonzero((getattr(before, name) != new).any(axis=1)) if same else None
        if at is None or len(at):
            changed = ChangedRows(at, new if at is None else new[at])
            yield _piece(frames.AMOUNTS, name, "", changed)


def _facts(before: StaticTable | None, after: StaticTable) -> Iterator[bytes]:
    """What keeps pods away, of the nodes that are new or changed; then the names, in order."""
    known = _by_name(before) if before is not None else {}
    changed = {name: row for name, row in _by_name(after).items() if known.get(name) != row}
    items = list(changed.items())
    for begin in range(0, len(items), NODES_A_PIECE):
        yield _piece(frames.NODES, "facts", "", dict(items[begin : begin + NODES_A_PIECE]))
    if before is None or before.names != after.names:
        yield _piece(frames.NODES, "names", "", after.names)


def _by_name(static: StaticTable) -> dict[str, tuple[Any, ...]]:
    columns = [getattr(static, name) for name in frames.node_facts()]
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
    return dict(zip(static.names, zip(*plain, strict=True), strict=True))
