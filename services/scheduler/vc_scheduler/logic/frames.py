"""How a session's input is written down: pieces of a snapshot, whole or only what changed.

A *frame* is what one session saw, as the difference to the frame before it; the first of a chain, a
*base*, is the difference to nothing. What a `Snapshot` consists of is read off its types, so a field
that is added to it is recorded without a word here:

- `dict[str, …]` by row: rows are shared between sessions, so a row that is the same object is the same;
  the order of the rows, where it is another than that of the old rows and then the new ones;
- the nodes by row: what keeps pods away by name, amounts by what changed in the arrays;
- `groups` by key, because their rows are among `everybody`;
- anything else whole, unless its bytes are those of last time.

Pieces are compressed as they come, so nothing holds the whole in memory twice; a piece is small, so
that other threads get their turn between two of them.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.snapshot import Snapshot
from vc_scheduler.logic.table import NodeTable, StaticTable

WHOLE: Final = "whole"
ROW: Final = "row"
GONE: Final = "gone"
ORDER: Final = "order"
KEYS: Final = "keys"
NODES: Final = "nodes"
AMOUNTS: Final = "amounts"

NODES_A_PIECE: Final = 250
LENGTH_BYTES: Final = 4
"""Before each piece."""

_DERIVED: Final = ("names", "rows", "masks")
"""Fields of `StaticTable` that are no fact of one node: the key, the columns' rows, and memory."""


class FrameError(ValueError):
    """A frame that cannot be used; says why."""


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A part of a frame."""

    operation: str
    field: str
    key: str
    value: msgspec.Raw


class ChangedRows(msgspec.Struct, frozen=True, array_like=True):
    """Rows of an array that differ, or (without `at`) the whole of it."""

    at: Any
    rows: Any


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    raise NotImplementedError(f"{type(value).__name__} cannot be recorded")


def unpack(expected: Any, value: Any) -> Any:
    """An array again."""
    if (get_origin(expected) or expected) is not np.ndarray:
        raise NotImplementedError(f"{expected} cannot be recorded")
    dtype, shape, content = value
    return np.frombuffer(content, dtype=np.dtype(dtype)).reshape(shape).copy()


encoder: Final = msgspec.msgpack.Encoder(enc_hook=_pack)
decisions_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")


@functools.cache
def fields_of(described: type) -> dict[str, Any]:
    """Names and types of a dataclass's fields that are recorded, in their order."""
    hints = get_type_hints(described)
    named = [field.name for field in dataclasses.fields(described)]
    return {name: hints[name] for name in named if not name.startswith("_")}


@functools.cache
def row_fields() -> tuple[str, ...]:
    """Fields of `Snapshot` that are recorded row by row."""
    return tuple(
        name
        for name, hint in fields_of(Snapshot).items()
        if get_origin(hint) is dict and get_args(hint)[0] is str
    )


@functools.cache
def whole_fields() -> tuple[str, ...]:
    """Fields of `Snapshot` that are recorded whole."""
    special = {"groups", "nodes", *row_fields()}
    return tuple(name for name in fields_of(Snapshot) if name not in special)


@functools.cache
def node_facts() -> tuple[str, ...]:
    """Fields of `StaticTable` with one value for each node."""
    return tuple(name for name in fields_of(StaticTable) if name not in _DERIVED)


@functools.cache
def node_arrays() -> tuple[str, ...]:
    """Arrays of `NodeTable`, one row for each node."""
    hints = fields_of(NodeTable)
    return tuple(name for name, hint in hints.items() if get_origin(hint) is np.ndarray)


@functools.cache
def fact_type(name: str) -> Any:
    """The type of one node's value."""
    hint = fields_of(StaticTable)[name]
    if get_origin(hint) is np.ndarray:
        return bool if array_type(hint) is np.bool_ else int
    return get_args(hint)[0]


def array_type(hint: Any) -> Any:
    """The element type of `NDArray[…]`."""
    return get_args(get_args(hint)[1])[0]


def pieces_of(data: bytes) -> Iterator[Piece]:
    """The pieces of a decompressed frame; FrameError when it is cut off or is none."""
    at, decoder = 0, msgspec.msgpack.Decoder(Piece)
    while at < len(data):
        begin = at + LENGTH_BYTES
        at = begin + int.from_bytes(data[at:begin], "big")
        if at > len(data):
            raise FrameError("a frame that is cut off")
        yield decoder.decode(data[begin:at])


@functools.cache
def types_digest() -> str:
    """Of every type a frame is made of: a reader with other types must not read it."""
    parts = [repr(fields_of(described)) for described in (Snapshot, NodeTable, StaticTable)]
    hints: Iterable[Any] = [*fields_of(Snapshot).values(), *map(fact_type, node_facts()), Conf]
    _, schemas = msgspec.json.schema_components(list(map(_schema_type, hints)), schema_hook=_schema)
    parts.append(msgspec.json.encode(schemas, order="deterministic").decode())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _schema_type(hint: Any) -> Any:
    """JSON has only texts as keys; what others are made of is in the `repr` of the fields."""
    return dict[str, get_args(hint)[1]] if get_origin(hint) is dict else hint  # type: ignore[misc]


def _schema(_: type) -> dict[str, Any]:
    return {"type": "array"}
