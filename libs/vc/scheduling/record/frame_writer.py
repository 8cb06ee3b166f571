"""Writes the input of sessions as frames; `frames.py` describes the format.

The writer keeps the snapshot of the last frame. Snapshots are immutable and share their rows, so
this costs only the arrays of the nodes.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.model.node_table import NodeTable, StaticTable
from vc.scheduling.record import frames
from vc.scheduling.record.frames import LENGTH_BYTES, NODES_A_PIECE, ChangedRows, encoder

COMPRESSION_LEVEL: Final = 1
"""The fastest level: rows are similar, so it already removes nine tenths of the size."""


class FrameTooLargeError(ValueError):
    """The input is larger than one record may be."""


class FrameWriter:
    """Writes the frames of one chain in order."""

    def __init__(self, bytes_max: int, *, pause: Callable[[], None] = lambda: None) -> None:
        """Limit a frame to `bytes_max` bytes; `pause` is called after each piece.

        A writer thread may wait in `pause` to leave the interpreter to other threads.
        """
        self._bytes_max = bytes_max
        self._pause = pause
        self._last: Snapshot | None = None
        self._whole: dict[str, bytes] = {}
        """Encoded fields of the last frame, by name."""

    def forget(self) -> None:
        """Make the next frame a base."""
        self._last, self._whole = None, {}

    def frame(self, snapshot: Snapshot) -> bytes:
        """Return the difference to the previous frame.

        If writing fails, the chain ends and the next frame is a base.
        """
        try:
            frame = self._packed(snapshot)
        # `_whole` may already contain fields of the frame that was not written, so the next
        # difference would be wrong.
        except BaseException:
            self.forget()
            raise
        # Only a complete frame becomes the base of the next difference.
        self._last = snapshot
        return frame

    def _packed(self, snapshot: Snapshot) -> bytes:
        """Compress the pieces one by one, so that no uncompressed frame is in memory."""
        packer = zlib.compressobj(COMPRESSION_LEVEL)
        parts: list[bytes] = []
        size = 0
        for piece in self._pieces(snapshot):
            parts.append(packer.compress(len(piece).to_bytes(LENGTH_BYTES, "big") + piece))
            size += len(parts[-1])
            self._pause()
            # Checked per piece, so that a snapshot that is too large costs no more than the limit.
            if size > self._bytes_max:
                raise FrameTooLargeError(f"its input takes more than {self._bytes_max} bytes")
        return b"".join([*parts, packer.flush()])

    def _pieces(self, snapshot: Snapshot) -> Iterator[bytes]:
        """Yield the changed pieces in the order in which the reader needs them."""
        for field in frames.whole_fields():
            piece = _piece(frames.WHOLE, field, "", getattr(snapshot, field))
            # Encoded bytes are compared, because such fields have no identity that survives a
            # session.
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
    """Yield changed rows, removed keys, and the order if it is not the default one.

    The reader rebuilds the rows in the same order, because iteration order is part of the input.
    """
    new: list[str] = []
    for key, row in after.items():
        known = before.get(key)
        if known is None:
            new.append(key)
        # Most rows are the same object as in the last snapshot, which is tested first because it is
        # cheap. A row of a pod group compares by identity: once created again, it is written again.
        if known is None or (known is not row and known != row):
            yield _piece(frames.ROW, field, key, row)
    # The reader drops removed keys and appends new ones. The order is written only when that
    # rule does not reproduce it.
    gone = [key for key in before if key not in after]
    if gone:
        yield _piece(frames.GONE, field, "", gone)
    kept = [key for key in before if key in after] if gone else list(before)
    order = list(after)
    if kept + new != order:
        yield _piece(frames.ORDER, field, "", order)


def _nodes(before: NodeTable | None, after: NodeTable) -> Iterator[bytes]:
    """Yield static facts, resource columns and changed rows of the arrays."""
    known = before.static if before is not None else None
    # Snapshots share the static table until a node changes, so identity saves the
    # comparison of all facts.
    if known is not after.static:
        yield from _facts(known, after.static)
    # Rows of arrays can be compared only when nodes and columns are the same on both sides.
    same = (
        before is not None
        and before.static.names == after.static.names
        and before.resources == after.resources
    )
    # The reader applies changed rows by position. With other nodes or columns the positions mean
    # something else, so all arrays follow in full.
    if not same:
        yield _piece(frames.NODES, "resources", "", after.resources)
    for name in frames.node_arrays():
        new = getattr(after, name)
        # A bind changes one row of a table of thousands, so changed rows are far smaller than the
        # array.
        at = np.flatnonzero((getattr(before, name) != new).any(axis=1)) if same else None
        if at is None or len(at):
            changed = ChangedRows(at, new if at is None else new[at])
            yield _piece(frames.AMOUNTS, name, "", changed)


def _facts(before: StaticTable | None, after: StaticTable) -> Iterator[bytes]:
    """Yield the static facts of new or changed nodes, then the names in order if they changed."""
    known = _by_name(before) if before is not None else {}
    changed = {name: row for name, row in _by_name(after).items() if known.get(name) != row}
    items = list(changed.items())
    # A base has the facts of all nodes, and other threads run only between two pieces.
    for begin in range(0, len(items), NODES_A_PIECE):
        yield _piece(frames.NODES, "facts", "", dict(items[begin : begin + NODES_A_PIECE]))
    if before is None or before.names != after.names:
        yield _piece(frames.NODES, "names", "", after.names)


def _by_name(static: StaticTable) -> dict[str, tuple[Any, ...]]:
    """Return the static facts of each node as plain values that can be compared and encoded."""
    columns = [getattr(static, name) for name in frames.node_facts()]
    # Elements of arrays are numpy scalars, which msgpack cannot encode.
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
    return dict(zip(static.names, zip(*plain, strict=True), strict=True))
