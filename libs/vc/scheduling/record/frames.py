"""Format of the recorded input of sessions.

A *frame* is the input of one session as a difference to the previous frame. The first frame of a
chain, the *base*, is a difference to nothing. The fields of a `Snapshot` are derived from its
types, so a new field is recorded without a change here:

- `dict[str, …]` by row. Sessions share rows, so an identical object needs no comparison. The order
  is recorded where it differs from the old rows followed by the new ones.
- Nodes by row: static facts by name, amounts as the changed rows of arrays.
- `groups` by key, because their rows are also in `all_groups`.
- Any other field as a whole, unless its bytes are unchanged.

Pieces are compressed one at a time, so the whole frame is not in memory twice. A piece is small, so
that other threads can run between two of them.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from vc.model.values.resources import Resources
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.model.node_table import NodeTable, StaticTable

WHOLE: Final = "whole"
ROW: Final = "row"
GONE: Final = "gone"
ORDER: Final = "order"
KEYS: Final = "keys"
NODES: Final = "nodes"
AMOUNTS: Final = "amounts"

FORMAT: Final = "2"
"""Version of the layout of frames. Raise it when the meaning of a field changes but not its type;
other changes of the types change the digest by themselves. 1 had rows of pods with a `role`."""

NODES_A_PIECE: Final = 250
LENGTH_BYTES: Final = 4
"""Size of the length prefix of each piece."""

_DERIVED: Final = ("names", "rows", "masks")
"""Fields of `StaticTable` that are not facts of a node: the names, row numbers and cached masks."""


class FrameError(ValueError):
    """A frame cannot be used; the message says why."""


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A part of a frame: an operation on a field, and for rows the key."""

    operation: str
    field: str
    key: str
    value: msgspec.Raw


class ChangedRows(msgspec.Struct, frozen=True, array_like=True):
    """The changed rows of an array and their positions; `at` is None for the whole array."""

    at: Any
    rows: Any


def _pack(value: Any) -> Any:
    """Encode an array as dtype, shape and bytes."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    raise NotImplementedError(f"{type(value).__name__} cannot be recorded")


def unpack(expected: Any, value: Any) -> Any:
    """Decode an array that `_pack` encoded, or resources, which are encoded as a map."""
    if expected is Resources:
        return Resources(value)
    if (get_origin(expected) or expected) is not np.ndarray:
        raise NotImplementedError(f"{expected} cannot be recorded")
    dtype, shape, content = value
    # The copy is writable; an array over the received bytes would not be.
    return np.frombuffer(content, dtype=np.dtype(dtype)).reshape(shape).copy()


encoder: Final = msgspec.msgpack.Encoder(enc_hook=_pack)
decisions_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")


@functools.cache
def fields_of(described: type) -> dict[str, Any]:
    """Return the recorded fields of a dataclass with their types, in order."""
    hints = get_type_hints(described)
    named = [field.name for field in dataclasses.fields(described)]
    return {name: hints[name] for name in named if not name.startswith("_")}


@functools.cache
def row_fields() -> tuple[str, ...]:
    """Return the fields of `Snapshot` that are recorded by row."""
    return tuple(
        name
        for name, hint in fields_of(Snapshot).items()
        if get_origin(hint) is dict and get_args(hint)[0] is str
    )


@functools.cache
def whole_fields() -> tuple[str, ...]:
    """Return the fields of `Snapshot` that are recorded as a whole."""
    special = {"groups", "nodes", *row_fields()}
    return tuple(name for name in fields_of(Snapshot) if name not in special)


@functools.cache
def node_facts() -> tuple[str, ...]:
    """Return the fields of `StaticTable` that have one value per node."""
    return tuple(name for name in fields_of(StaticTable) if name not in _DERIVED)


@functools.cache
def node_arrays() -> tuple[str, ...]:
    """Return the arrays of `NodeTable`, which have one row per node."""
    hints = fields_of(NodeTable)
    return tuple(name for name, hint in hints.items() if get_origin(hint) is np.ndarray)


@functools.cache
def fact_type(name: str) -> Any:
    """Return the type of the value of one node."""
    hint = fields_of(StaticTable)[name]
    if get_origin(hint) is np.ndarray:
        return bool if array_type(hint) is np.bool_ else int
    return get_args(hint)[0]


def array_type(hint: Any) -> Any:
    """Return the element type of `NDArray[…]`."""
    return get_args(get_args(hint)[1])[0]


def pieces_of(data: bytes) -> Iterator[Piece]:
    """Yield the pieces of a decompressed frame; raises FrameError when it is truncated."""
    at, decoder = 0, msgspec.msgpack.Decoder(Piece)
    while at < len(data):
        begin = at + LENGTH_BYTES
        at = begin + int.from_bytes(data[at:begin], "big")
        # A slice beyond the end would silently be shorter, so the length is checked first.
        if at > len(data):
            raise FrameError("a frame that is cut off")
        yield decoder.decode(data[begin:at])


@functools.cache
def types_digest() -> str:
    """Return a digest of all types in a frame; a reader with another digest must not decode it.

    Only names and types of fields are part of it: a changed comment or docstring, which msgspec puts
    into schemas as `description`, does not make older records unreadable.
    """
    parts = [FORMAT]
    parts += [repr(fields_of(described)) for described in (Snapshot, NodeTable, StaticTable)]
    # Decisions are part of the digest too: their bytes are compared with the recorded ones.
    described = [*fields_of(Snapshot).values(), *map(fact_type, node_facts()), Conf, Decisions]
    _, schemas = msgspec.json.schema_components(
        list(map(_schema_type, described)), schema_hook=_schema
    )
    plain = _without_prose(schemas)
    parts.append(msgspec.json.encode(plain, order="deterministic").decode())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _schema_type(hint: Any) -> Any:
    """Replace key types by `str`, which JSON requires; the `repr` of the fields has the real ones."""
    return dict[str, get_args(hint)[1]] if get_origin(hint) is dict else hint  # type: ignore[misc]


def _without_prose(schema: Any) -> Any:
    """A schema without its descriptions."""
    if isinstance(schema, dict):
        # A field may itself be called `description`; only texts are prose.
        return {
            key: _without_prose(value)
            for key, value in schema.items()
            if key != "description" or not isinstance(value, str)
        }
    return [_without_prose(item) for item in schema] if isinstance(schema, list) else schema


def refusal(entry_types: str, release: str) -> str:
    """Why a session that was recorded with these types cannot be replayed; empty when it can be."""
    if entry_types == types_digest():
        return ""
    return f"recorded by release {release} in another format, which this release does not read"


def _schema(_: type) -> dict[str, Any]:
    """Describe arrays, for which msgspec has no schema."""
    return {"type": "array"}
