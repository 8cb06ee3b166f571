"""Records whose header names are no UTF-8, read all the same.

Kafka's header names are texts, and aiokafka's decoder raises at the first that is none, without a way past it:
every reader of the log would stand before that one record for ever. Here its name is read with replacement
characters, so that the record arrives like any other damaged one and is put aside by whoever reads it.

A batch is read by aiokafka's fast decoder; only one that makes it raise is read again by the plain one.
"""

from collections.abc import Iterator
from typing import Any, Final

import aiokafka.consumer.fetcher as fetching
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords

_PREFIX: Final = 12
"""Bytes of an offset and a length, with which every batch begins."""


class LenientRecords:
    """What one fetch brought of one log; see `aiokafka.record.memory_records.MemoryRecords`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._records = MemoryRecords(data)
        self._batches = 0

    def has_next(self) -> bool:
        return bool(self._records.has_next())

    def next_batch(self) -> "LenientBatch | None":
        batch = self._records.next_batch()
        self._batches += 1
        return LenientBatch(batch, self._data, self._batches - 1) if batch is not None else None

    def size_in_bytes(self) -> int:
        return int(self._records.size_in_bytes())


class LenientBatch:
    """One batch; all that is asked of it but its records is asked of the fast decoder."""

    def __init__(self, batch: Any, data: bytes, index: int) -> None:
        self._batch = batch
        self._data = data
        self._index = index
        self._iterator: Iterator[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __iter__(self) -> Iterator[Any]:
        return self._read()

    def __next__(self) -> Any:
        if self._iterator is None:
            self._iterator = self._read()
        return next(self._iterator)

    def _read(self) -> Iterator[Any]:
        given = 0
        try:
            for record in self._batch:
                yield record
                given += 1
        except UnicodeDecodeError:
            pass
        else:
            return
        for at, record in enumerate(self._again()):
            if at >= given:
                yield record

    def _again(self) -> Iterator[Any]:
        """The same batch by the plain decoder, from a buffer whose texts are read leniently."""
        plain = _plain_batch(self._data, self._index)
        plain._maybe_uncompress()  # noqa: SLF001 - the buffer is exchanged when it is plain
        plain._buffer = _Buffer(plain._buffer)  # noqa: SLF001
        return iter(plain)


def _plain_batch(data: bytes, index: int) -> _DefaultRecordBatchPy:
    """Cut out by the lengths that every batch begins with."""
    begin = 0
    for _ in range(index):
        begin += _length(data, begin)
    return _DefaultRecordBatchPy(bytes(data[begin : begin + _length(data, begin)]))


def _length(data: bytes, begin: int) -> int:
    return _PREFIX + int.from_bytes(data[begin + 8 : begin + _PREFIX])


class _Text(bytes):
    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:  # noqa: ARG002
        return super().decode(encoding, "replace")


class _Buffer(bytes):
    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return _Text(found) if isinstance(found, bytes) else found


def read_leniently() -> None:
    """For every consumer of this process."""
    fetching.MemoryRecords = LenientRecords
