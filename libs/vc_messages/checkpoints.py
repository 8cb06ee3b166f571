"""A view's state as bytes and back, in pieces.

The rows of a log, by key, are cut into slices; a slice is one chunk. Where to cut is decided by the
keys themselves (as rsync-like tools cut files), so a row that comes or goes changes its own slice and
leaves the others as they were: a writer that remembers its slices encodes only those that changed,
and the pods of a job, which are neighbours, change few. The same state gives the same bytes.

The first chunk is a head: epochs, and a fingerprint of the types the rows were written from. A
release that knows other fields must not believe these rows, since it would take defaults for facts.
"""

import functools
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from vc_messages.codec import CodecError
from vc_messages.facts import Identity, Stamp
from vc_messages.published import PROJECTION
from vc_messages.record import TopicPartition
from vc_messages.topics import BY_NAME, PARTITIONS, fact_partitions
from vc_messages.view import Entry, ViewState
from vc_model.bounded import read_count, shown
from vc_model.faults import describe
from vc_model.kinds import BY_TOPIC, Kind

SLICE_ROWS_MEAN: Final = 512
SLICE_ROWS_MAX: Final = 2_048
"""Rows of one chunk: encoding or reading them takes some milliseconds, then others may run."""

HEAD: Final = "head"
_NONE_SEEN: Final = -1
_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")
_ObjectT = TypeVar("_ObjectT")


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    types: str
    epochs: dict[str, list[int]]
    """Topic to the highest epoch seen in each partition."""


class _Row(msgspec.Struct, Generic[_ObjectT], frozen=True, array_like=True, gc=False):
    """An entry; its incarnation is the checkpoint's, its partition in the chunk's name."""

    key: str
    uid: str
    resource_version: str
    epoch: int
    traceparent: str
    object: _ObjectT


class _Slice(NamedTuple):
    """What a chunk was made of, to know it again."""

    rows: list[tuple[str, Entry]]
    chunk: bytes


class Chunker:
    """Turns states of one view, one after the other, into chunks."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = tuple(kinds)
        self._slices: dict[tuple[TopicPartition, str], _Slice] = {}
        """By log and first key. Invariant: of the state that was turned into chunks last."""

    def chunks(self, state: ViewState) -> Iterator[tuple[str, bytes]]:
        """Name and bytes, one after the other; between two of them others may run."""
        yield HEAD, _encoder.encode(_head_of(self._kinds, state))
        kept: dict[tuple[TopicPartition, str], _Slice] = {}
        for kind in self._kinds:
            table = state.tables[kind.topic]
            for partition, keys in enumerate(_keys_by_partition(table)):
                log = TopicPartition(kind.topic, partition)
                for number, cut in enumerate(_cut(keys)):
                    rows = [(key, table[key]) for key in cut]
                    made = kept[log, cut[0]] = self._slice(log, rows)
                    yield f"{kind.topic}/{partition}/{number}", made.chunk
        self._slices = kept

    def _slice(self, log: TopicPartition, rows: list[tuple[str, Entry]]) -> _Slice:
        known = self._slices.get((log, rows[0][0]))
        if known is not None and known.rows == rows:
            return known
        return _Slice(rows, _encoder.encode([_row_of(key, entry) for key, entry in rows]))


def offsets_of(state: ViewState) -> dict[str, list[int]]:
    """Topic to the next offset of each partition."""
    return {
        topic: [state.positions[TopicPartition(topic, p)] for p in range(BY_NAME[topic].partitions)]
        for topic in state.tables
    }


def row_counts_of(state: ViewState) -> dict[str, int]:
    """Topic to the number of its objects."""
    return {topic: len(table) for topic, table in state.tables.items()}


class Restorer:
    """Puts a state together again, chunk by chunk; CodecError when it cannot be believed."""

    def __init__(
        self,
        kinds: Iterable[Kind],
        *,
        incarnation: str,
        epoch: int,
        offsets: Mapping[str, list[int]],
    ) -> None:
        self._kinds = tuple(kinds)
        self._incarnation = incarnation
        self._epoch = epoch
        self._offsets = offsets
        self._head: _Head | None = None
        self._tables: dict[str, dict[str, Entry]] = {kind.topic: {} for kind in self._kinds}
        self._stamps: dict[int, Stamp] = {}

    def take(self, name: str, chunk: bytes) -> None:
        """One chunk, in whatever order."""
        try:
            if name == HEAD:
                self._head = msgspec.msgpack.decode(chunk, type=_Head)
            else:
                self._take_rows(*_log_of(name), chunk)
        except Exception as error:  # noqa: BLE001 - of damaged bytes, whatever it is
            raise CodecError(f"chunk {name[:200]}: {describe(error)}") from None

    def _take_rows(self, topic: str, partition: int, chunk: bytes) -> None:
        table = self._tables.get(topic)
        if table is None:
            raise CodecError(f"{topic} is not among our kinds")
        for row in _decoder_of(BY_TOPIC[topic].type).decode(chunk):
            identity = Identity(
                uid=row.uid,
                resource_version=row.resource_version,
                stamp=self._stamp(row.epoch),
                traceparent=row.traceparent,
            )
            table[row.key] = Entry(object=row.object, identity=identity, partition=partition)

    def _stamp(self, epoch: int) -> Stamp:
        """One for all rows of an epoch."""
        stamp = self._stamps.get(epoch)
        if stamp is None:
            stamp = self._stamps[epoch] = Stamp(incarnation=self._incarnation, epoch=epoch)
        return stamp

    def state(self, row_counts: Mapping[str, int]) -> ViewState:
        """All chunks were taken."""
        head = self._head
        if head is None:
            raise CodecError("a checkpoint without a head")
        if head.types != _fingerprint(self._kinds):
            raise CodecError("written by a release that knows other fields")
        counted = {topic: len(table) for topic, table in self._tables.items()}
        if counted != row_counts:
            raise CodecError(f"rows are missing: {counted}, not {dict(row_counts)}")
        return ViewState(
            incarnation=self._incarnation,
            epoch=self._epoch,
            positions=_by_log(self._kinds, self._offsets),
            epochs={
                log: epoch
                for log, epoch in _by_log(self._kinds, head.epochs).items()
                if epoch != _NONE_SEEN
            },
            tables=self._tables,
        )


def _head_of(kinds: tuple[Kind, ...], state: ViewState) -> _Head:
    epochs = {
        kind.topic: [
            state.epochs.get(TopicPartition(kind.topic, p), _NONE_SEEN)
            for p in range(fact_partitions(kind))
        ]
        for kind in kinds
    }
    return _Head(types=_fingerprint(kinds), epochs=epochs)


def _by_log(kinds: tuple[Kind, ...], numbers: Mapping[str, list[int]]) -> dict[TopicPartition, int]:
    if {topic: len(of) for topic, of in numbers.items()} != {
        kind.topic: fact_partitions(kind) for kind in kinds
    }:
        raise CodecError("not the topics and partitions that we follow")
    return {
        TopicPartition(topic, partition): number
        for topic, of in numbers.items()
        for partition, number in enumerate(of)
    }


def _keys_by_partition(table: dict[str, Entry]) -> list[list[str]]:
    """Keys only: a pair for each of 50,000 rows would wake the garbage collector."""
    keys: list[list[str]] = [[] for _ in range(PARTITIONS)]
    for key, entry in table.items():
        keys[entry.partition].append(key)
    return keys


def _cut(keys: list[str]) -> Iterator[list[str]]:
    """Slices by key; a slice ends with a key that says so, or when it is full."""
    keys.sort()
    begin = 0
    for end, key in enumerate(keys, start=1):
        last = zlib.crc32(key.encode()) % SLICE_ROWS_MEAN == 0
        if last or end - begin == SLICE_ROWS_MAX or end == len(keys):
            yield keys[begin:end]
            begin = end


def _row_of(key: str, entry: Entry) -> _Row[Any]:
    identity = entry.identity
    return _Row(
        key,
        identity.uid,
        identity.resource_version,
        identity.stamp.epoch,
        identity.traceparent,
        entry.object,
    )


def _log_of(name: str) -> tuple[str, int]:
    topic, _, rest = name.partition("/")
    partition = rest.partition("/")[0]
    number = read_count(partition, most=PARTITIONS - 1)
    if number is None:
        raise CodecError(f"chunk {shown(name)} is of no log")
    return topic, number


@functools.cache
def _decoder_of(decoded: type) -> "msgspec.msgpack.Decoder[list[_Row[Any]]]":
    return msgspec.msgpack.Decoder(list[_Row[decoded]])  # type: ignore[valid-type]


@functools.cache
def _fingerprint(kinds: tuple[Kind, ...]) -> str:
    """Of every field of every type, and of what is kept of objects: equal when rows mean the same."""
    schema = msgspec.json.schema_components([list[_Row[kind.type]] for kind in kinds])  # type: ignore[name-defined]
    described = PROJECTION.encode() + msgspec.json.encode(schema, order="deterministic")
    return hashlib.sha256(described).hexdigest()
