"""Reads records whose header names are not valid UTF-8.

Kafka's header names are texts, and aiokafka's decoder raises at the first invalid one without a way
to skip it: every reader of the log would be stuck at that record forever. Here the name is decoded
with replacement characters, so that the record arrives and its reader handles it like any other
damaged record.

Batches are decoded by aiokafka's fast decoder. Only a batch on which it raises is decoded again by
the pure Python decoder.
"""

from collections.abc import Iterator
from typing import Any, Final

import aiokafka.consumer.fetcher as fetching
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords

_PREFIX: Final = 12
"""Size of the offset and the length at the beginning of every batch."""


class LenientRecords:
    """The result of one fetch for one log; see `aiokafka.record.memory_records.MemoryRecords`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._records = MemoryRecords(data)
        self._batches = 0

    def has_next(self) -> bool:
        return bool(self._records.has_next())

    def next_batch(self) -> "LenientBatch | None":
        batch = self._records.next_batch()
        # Counted, because the fast decoder does not say where in the raw data its batch begins.
        self._batches += 1
        return LenientBatch(batch, self._data, self._batches - 1) if batch is not None else None

    def size_in_bytes(self) -> int:
        return int(self._records.size_in_bytes())


class LenientBatch:
    """One batch; everything except its records is delegated to the fast decoder."""

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
        # Only this error has a lenient reading; other damage must surface as an error.
        except UnicodeDecodeError:
            pass
        else:
            return
        # Records that the fast decoder already returned must not be returned twice.
        for at, record in enumerate(self._again()):
            if at >= given:
                yield record

    def _again(self) -> Iterator[Any]:
        """Decode the batch with the Python decoder,
        from a buffer whose texts are decoded leniently.
        """
        # The Python decoder needs its own buffer, so the batch is cut from the raw data again.
        plain = _plain_batch(self._data, self._index)
        plain._maybe_uncompress()  # noqa: SLF001 - the buffer is exchanged when it is plain
        plain._buffer = _Buffer(plain._buffer)  # noqa: SLF001
        return iter(plain)


def _plain_batch(data: bytes, index: int) -> _DefaultRecordBatchPy:
    """The batch at that index, found by the length at the beginning of every batch."""
    begin = 0
    # Batches differ in length and there is no index of them, so the earlier ones are stepped over.
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
        # A single position yields an integer for the decoder's arithmetic; only slices are texts.
        return _Text(found) if isinstance(found, bytes) else found


def read_leniently() -> None:
    """Enable lenient decoding for all consumers of this process."""
    fetching.MemoryRecords = LenientRecords
