"""Runs a recorded session again and compares the bytes of its decisions.

The frame of a record is a difference to the previous frame, so the whole chain from its base is
read. Then the pure cycle runs on the result. The decisions must have the recorded digest in any
process and under any hash seed; a different digest indicates a bug in the recording or the cycle.
"""

import functools
import hashlib
import zlib
from collections.abc import Sequence
from types import GenericAlias
from typing import Any, Final, get_args, get_origin

import msgspec
import numpy as np

from vc.messages.sessions import SessionEntry
from vc.model.faults import describe
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.cycle import check_conf, run_cycle
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.model.node_table import NodeTable, StaticTable
from vc.scheduling.record import frames
from vc.scheduling.record.frames import ChangedRows, FrameError, Piece

FRAME_BYTES_MAX: Final = 1024 * 1024 * 1024
"""Maximum size of a decompressed frame, so that a small malicious frame cannot exhaust memory."""


class FrameReader:
    """Rebuilds snapshots frame by frame, beginning with a base."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {name: {} for name in frames.row_fields()}
        self._keys: list[str] = []
        self._facts: dict[str, tuple[Any, ...]] = {}
        self._names: tuple[str, ...] = ()
        self._resources: dict[str, int] = {}
        self._arrays: dict[str, Any] = {}

    def take(self, frame: bytes) -> None:
        """Apply the next frame of the chain; raises FrameError when it cannot be decoded."""
        try:
            for piece in frames.pieces_of(_unpacked(frame)):
                self._take(piece)
        except FrameError:
            raise
        except Exception as error:  # noqa: BLE001 - of damaged bytes, whatever it is
            raise FrameError(f"a frame that cannot be read: {describe(error)}") from None

    def _take(self, piece: Piece) -> None:
        """Apply one piece of a frame to the fields of the snapshot that is being rebuilt."""
        match piece.operation:
            case frames.WHOLE:
                self._fields[piece.field] = _decode(piece, frames.fields_of(Snapshot)[piece.field])
            case frames.ROW:
                row = get_args(frames.fields_of(Snapshot)[piece.field])[1]
                self._fields[piece.field][piece.key] = _decode(piece, row)
            case frames.GONE:
                # A key that is not there shows a lost frame; the KeyError becomes a FrameError.
                for key in _decode(piece, list[str]):
                    del self._fields[piece.field][key]
            case frames.ORDER:
                rows = self._fields[piece.field]
                self._fields[piece.field] = {key: rows[key] for key in _decode(piece, list[str])}
            case frames.KEYS:
                self._keys = _decode(piece, list[str])
            case frames.NODES:
                self._take_nodes(piece)
            case frames.AMOUNTS:
                self._take_amounts(piece)
            case _:
                raise FrameError(f"operation {piece.operation!r} is not known")

    def _take_nodes(self, piece: Piece) -> None:
        match piece.field:
            case "resources":
                self._resources = _decode(piece, dict[str, int])
            case "names":
                self._names = _decode(piece, tuple[str, ...])
            case _:
                self._facts.update(_decode(piece, _facts_type()))

    def _take_amounts(self, piece: Piece) -> None:
        hint = frames.fields_of(NodeTable)[piece.field]
        changed = _decode(piece, ChangedRows)
        rows = frames.unpack(hint, changed.rows)
        if changed.at is None:
            self._arrays[piece.field] = rows
        else:
            # Snapshots share the array, so it is copied before it changes.
            self._arrays[piece.field] = self._arrays[piece.field].copy()
            self._arrays[piece.field][frames.unpack(hint, changed.at)] = rows

    def snapshot(self) -> Snapshot:
        """Return the snapshot that the session of the last frame saw."""
        if "session_id" not in self._fields:
            raise FrameError("a chain without its base")
        all_groups = self._fields["all_groups"]
        # A chain with a lost frame can decode without an error, so the references are checked.
        missing = [key for key in self._keys if key not in all_groups]
        if missing:
            raise FrameError(f"the row of {missing[0]} is missing")
        values = {name: _copy(value) for name, value in self._fields.items()}
        groups = tuple(all_groups[key] for key in self._keys)
        return Snapshot(groups=groups, nodes=self._nodes(), **values)

    def _nodes(self) -> NodeTable:
        """Rebuild the node table: facts by row become columns in the order of the names."""
        hints = frames.fields_of(StaticTable)
        facts = list(zip(*[self._facts[name] for name in self._names], strict=True))
        columns: dict[str, Any] = {}
        for at, name in enumerate(frames.node_facts()):
            values: Any = facts[at] if facts else ()
            if get_origin(hints[name]) is np.ndarray:
                values = np.array(values, dtype=frames.array_type(hints[name]))
            columns[name] = values
        # Row numbers of the cache are not recorded: sessions use them only to find the same node in
        # several tables, and here all tables are in the order of the names.
        rows = np.arange(len(self._names), dtype=np.int64)
        static = StaticTable(names=self._names, rows=rows, **columns)
        return NodeTable(static=static, resources=dict(self._resources), **self._arrays)


def _copy(value: Any) -> Any:
    """Copy dictionaries, because later frames change those of the reader."""
    return dict(value) if isinstance(value, dict) else value


@functools.cache
def _facts_type() -> Any:
    types: Any = tuple(frames.fact_type(name) for name in frames.node_facts())
    return GenericAlias(dict, (str, GenericAlias(tuple, types)))


@functools.cache
def _decoder(wanted: Any) -> "msgspec.msgpack.Decoder[Any]":
    return msgspec.msgpack.Decoder(wanted, dec_hook=frames.unpack)


def _decode(piece: Piece, wanted: Any) -> Any:
    return _decoder(wanted).decode(piece.value)


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a replay."""

    decisions: Decisions
    digest: str
    same: bool
    """Whether the decisions are equal to the recorded ones, byte for byte."""


def digest_of(decisions: Decisions) -> str:
    """Return a digest of all decisions.

    Items are encoded one at a time, so that other threads can run between them.
    """
    whole = hashlib.sha256()
    for name in decisions.__struct_fields__:
        value = getattr(decisions, name)
        # The name separates the fields: an item that moves to the next field changes the digest.
        whole.update(f"|{name}|".encode())
        for item in value if isinstance(value, tuple) else (value,):
            whole.update(frames.decisions_encoder.encode(item))
    return whole.hexdigest()


def conf_of(entry: SessionEntry) -> Conf:
    """Return the configuration of a session; raises FrameError when it cannot be used here."""
    try:
        conf: Conf = _decoder(Conf).decode(entry.conf)
        check_conf(conf)
    except Exception as error:  # noqa: BLE001 - of damaged bytes, whatever it is
        raise FrameError(f"its configuration cannot be used here: {describe(error)}") from None
    return conf


def _unpacked(frame: bytes) -> bytes:
    """Decompress a frame up to the size limit."""
    packed = zlib.decompressobj()
    data = packed.decompress(frame, FRAME_BYTES_MAX)
    # Without the end of the stream the frame is truncated; with a tail it exceeds the size limit.
    if packed.unconsumed_tail or not packed.eof:
        raise FrameError("a frame that is cut off or too large")
    return data


def replay(chain: Sequence[SessionEntry]) -> Replayed:
    """Run the session of the last entry again.

    `chain` begins with a base. Raises FrameError when the session cannot be replayed.
    """
    if not chain:
        raise FrameError("no record")
    last = chain[-1]
    if last.left_out:
        raise FrameError(f"its input was not kept: {last.left_out}")
    # Bytes of other types might decode without an error and yield a wrong snapshot.
    if refused := frames.refusal(last.types, last.release):
        raise FrameError(refused)
    # All frames are applied, but only the last snapshot is built: the ones between are inputs of
    # other sessions.
    reader = FrameReader()
    for entry in chain:
        reader.take(entry.frame)
    decisions = run_cycle(reader.snapshot(), conf_of(last), last.now)
    digest = digest_of(decisions)
    return Replayed(decisions=decisions, digest=digest, same=digest == last.digest)
