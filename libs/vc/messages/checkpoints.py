"""Encodes the state of a view in chunks, and restores it.

The rows of a log are sorted by key and cut into slices; each slice is one chunk. The keys
themselves determine the cuts (content-defined chunking, as in rsync-like tools), so an added or
removed row changes only its own slice. A writer that remembers its slices encodes only changed
ones, and the pods of a job are neighbours, so they change few. Equal states have equal bytes.

The first chunk is a head with epochs and a fingerprint of the row types. A release with other
fields must not use these rows, because it would take defaults for facts.
"""

import functools
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from vc.messages.codec import CodecError
from vc.messages.facts import Identity, Stamp
from vc.messages.published import PROJECTION
from vc.messages.record import TopicPartition
from vc.messages.topics import BY_NAME, PARTITIONS, fact_partitions
from vc.messages.view import ViewEntry, ViewState
from vc.model.api.kinds import BY_TOPIC, Kind
from vc.model.faults import describe
from vc.model.values.bounded import read_count, shown

SLICE_ROWS_MEAN: Final = 512
SLICE_ROWS_MAX: Final = 2_048
"""Rows of one chunk; encoding or decoding them takes some milliseconds,
then other tasks may run.
"""

HEAD: Final = "head"
_NONE_SEEN: Final = -1
_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")
_ObjectT = TypeVar("_ObjectT")


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    types: str
    epochs: dict[str, list[int]]
    """The highest epoch seen in each partition, by topic."""


class _Row(msgspec.Struct, Generic[_ObjectT], frozen=True, array_like=True, gc=False):
    """An entry. Its incarnation is the checkpoint's, and its partition is in the chunk's name."""

    key: str
    uid: str
    resource_version: str
    epoch: int
    traceparent: str
    object: _ObjectT


class _Slice(NamedTuple):
    """A chunk with the rows that it encodes, to detect changes."""

    rows: list[tuple[str, ViewEntry]]
    chunk: bytes


class Chunker:
    """Encodes successive states of one view into chunks."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = tuple(kinds)
        self._slices: dict[tuple[TopicPartition, str], _Slice] = {}
        """By log and first key. Invariant: the slices of the last encoded state."""

    def chunks(self, state: ViewState) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of each chunk; the caller may let other tasks run between two of them."""
        yield HEAD, _encoder.encode(_head_of(self._kinds, state))
        kept: dict[tuple[TopicPartition, str], _Slice] = {}
        for kind in self._kinds:
            table = state.tables[kind.topic]
            # By partition, because a row's partition is stored only in the name of its chunk.
            for partition, keys in enumerate(_keys_by_partition(table)):
                log = TopicPartition(kind.topic, partition)
                for number, cut in enumerate(_cut(keys)):
                    rows = [(key, table[key]) for key in cut]
                    made = kept[log, cut[0]] = self._slice(log, rows)
                    yield f"{kind.topic}/{partition}/{number}", made.chunk
        # Slices that no longer exist are dropped, or memory would grow with every key ever seen.
        self._slices = kept

    def _slice(self, log: TopicPartition, rows: list[tuple[str, ViewEntry]]) -> _Slice:
        known = self._slices.get((log, rows[0][0]))
        # Entries are immutable, so equal rows encode to equal bytes.
        if known is not None and known.rows == rows:
            return known
        return _Slice(rows, _encoder.encode([_row_of(key, entry) for key, entry in rows]))


def offsets_of(state: ViewState) -> dict[str, list[int]]:
    """The next offset of each partition, by topic."""
    return {
        topic: [state.positions[TopicPartition(topic, p)] for p in range(BY_NAME[topic].partitions)]
        for topic in state.tables
    }


def row_counts_of(state: ViewState) -> dict[str, int]:
    """The number of objects, by topic."""
    return {topic: len(table) for topic, table in state.tables.items()}


class Restorer:
    """Restores a state chunk by chunk; raises CodecError if the checkpoint cannot be used."""

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
        self._tables: dict[str, dict[str, ViewEntry]] = {kind.topic: {} for kind in self._kinds}
        self._stamps: dict[int, Stamp] = {}

    def take(self, name: str, chunk: bytes) -> None:
        """Add one chunk, in any order."""
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
            table[row.key] = ViewEntry(object=row.object, identity=identity, partition=partition)

    def _stamp(self, epoch: int) -> Stamp:
        """One shared stamp for all rows of an epoch, to save memory."""
        # Rows of one epoch are many; sharing the stamp saves an object for each.
        stamp = self._stamps.get(epoch)
        if stamp is None:
            stamp = self._stamps[epoch] = Stamp(incarnation=self._incarnation, epoch=epoch)
        return stamp

    def state(self, row_counts: Mapping[str, int]) -> ViewState:
        """The restored state, after all chunks were added."""
        head = self._head
        if head is None:
            raise CodecError("a checkpoint without a head")
        # Fields that the writer did not know would silently get defaults.
        if head.types != _fingerprint(self._kinds):
            raise CodecError("written by a release that knows other fields")
        counted = {topic: len(table) for topic, table in self._tables.items()}
        # A missing chunk would look like deleted objects.
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
    # Every log that we follow needs exactly one number: another release may have followed other
    # kinds or split them differently.
    if {topic: len(of) for topic, of in numbers.items()} != {
        kind.topic: fact_partitions(kind) for kind in kinds
    }:
        raise CodecError("not the topics and partitions that we follow")
    return {
        TopicPartition(topic, partition): number
        for topic, of in numbers.items()
        for partition, number in enumerate(of)
    }


def _keys_by_partition(table: dict[str, ViewEntry]) -> list[list[str]]:
    """Keys by partition. Pairs of key and entry would
    trigger the garbage collector at 50,000 rows.
    """
    keys: list[list[str]] = [[] for _ in range(PARTITIONS)]
    for key, entry in table.items():
        keys[entry.partition].append(key)
    return keys


def _cut(keys: list[str]) -> Iterator[list[str]]:
    """Cut sorted keys into slices; a slice ends at a key whose hash says so, or when it is full."""
    # The order of arrival must not decide: equal states must give equal slices and equal bytes.
    keys.sort()
    begin = 0
    for end, key in enumerate(keys, start=1):
        # The hash of the key alone decides, so other rows cannot move the cut.
        last = zlib.crc32(key.encode()) % SLICE_ROWS_MEAN == 0
        # The maximum bounds the time of one chunk where no hash ends a slice for long.
        if last or end - begin == SLICE_ROWS_MAX or end == len(keys):
            yield keys[begin:end]
            begin = end


def _row_of(key: str, entry: ViewEntry) -> _Row[Any]:
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
    # The name comes from the cache: a damaged one must not create rows of no log.
    number = read_count(partition, most=PARTITIONS - 1)
    if number is None:
        raise CodecError(f"chunk {shown(name)} is of no log")
    return topic, number


@functools.cache
def _decoder_of(decoded: type) -> "msgspec.msgpack.Decoder[list[_Row[Any]]]":
    return msgspec.msgpack.Decoder(list[_Row[decoded]])  # type: ignore[valid-type]


@functools.cache
def _fingerprint(kinds: tuple[Kind, ...]) -> str:
    """Digest of all fields of all row types and of the projection; equal if rows mean the same."""
    schema = msgspec.json.schema_components([list[_Row[kind.type]] for kind in kinds])  # type: ignore[name-defined]
    described = PROJECTION.encode() + msgspec.json.encode(schema, order="deterministic")
    return hashlib.sha256(described).hexdigest()
