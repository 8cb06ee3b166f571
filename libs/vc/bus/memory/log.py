"""One partition of a topic: an append-only log with Kafka's cleanup policies.

Offsets are never reused and never change. A compacted log keeps the last record of each key and
drops tombstones after the topic's retention; its start does not move, and its offsets have gaps.
Other logs expire records by age, and their start moves. The last record of a compacted log always
stays, because Kafka never cleans the active segment; so a reader's position always reaches the end.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

import msgspec

from vc.bus.limits import POLL_BYTES_MAX
from vc.messages.record import Message, Record, TopicPartition
from vc.messages.topics import Topic

COMPACT_AFTER_RECORDS: Final = 10_000
"""A log is cleaned after this many records since the last cleanup."""
COMPACT_AFTER_BYTES: Final = 16 * 1024 * 1024
"""A log is also cleaned after this many bytes."""

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(tuple[str, bytes | None, dict[str, str]]).decode
_offset: Final = attrgetter("offset")


class Stored(NamedTuple):
    """A stored record: packed, with the fields that compaction needs."""

    offset: int
    key: str
    tombstone: bool
    packed: bytes
    written_at: float
    visible_at: float


class LogBatch(NamedTuple):
    """Records, the next position,
    and when more records are visible (None at the end of the log).
    """

    records: list[Record]
    position: int
    more_at: float | None


class Listener(Protocol):
    """Is notified when a log changed."""

    def log_changed(self, at: TopicPartition) -> None: ...


class PartitionLog:
    """A partition. Invariant: entries are sorted by offset,
    and none is visible before its predecessors.
    """

    def __init__(self, topic: Topic, partition: int) -> None:
        self.at = TopicPartition(topic.name, partition)
        self.start = 0
        self.end = 0
        self.wiped = False
        self.listeners: dict[Listener, None] = {}
        self._topic = topic
        self._entries: list[Stored] = []
        self._visible_at = 0.0
        self._records_since = 0
        self._bytes_since = 0

    def append(self, message: Message, *, now: float, delay_seconds: float) -> int:
        """Write one message and notify the listeners; returns its offset."""
        offset = self.end
        # Packing copies the message, so a caller cannot change it afterwards.
        packed = _pack((message.key, message.value, message.headers))
        # A delayed record delays all later ones, because the order within a log is kept.
        self._visible_at = max(self._visible_at, now + delay_seconds)
        self._entries.append(
            Stored(offset, message.key, message.value is None, packed, now, self._visible_at)
        )
        self.end += 1
        self._records_since += 1
        self._bytes_since += len(packed)
        if self._records_since >= COMPACT_AFTER_RECORDS or self._bytes_since >= COMPACT_AFTER_BYTES:
            self.clean(now)
        self.changed()
        return offset

    def changed(self) -> None:
        """Notify all listeners that there may be something new to read."""
        for listener in self.listeners:
            listener.log_changed(self.at)

    def read(self, position: int, *, limit: int, now: float) -> LogBatch:
        """The next records at or after a position."""
        entries = self._entries
        index = self._index_of(position)
        records: list[Record] = []
        size = 0
        # Compared before a record is added, so that no log is stuck at a very large one.
        while index < len(entries) and len(records) < limit and size < POLL_BYTES_MAX:
            stored = entries[index]
            if stored.visible_at > now:
                return LogBatch(records, position, stored.visible_at)
            records.append(self._rebuild(stored))
            size += len(stored.packed)
            position = stored.offset + 1
            index += 1
        return LogBatch(records, position, now if index < len(entries) else None)

    def _index_of(self, position: int) -> int:
        entries = self._entries
        # Without gaps the index can be computed; only a compacted log needs the search.
        if entries and entries[-1].offset - entries[0].offset == len(entries) - 1:
            return max(0, position - entries[0].offset)
        return bisect_left(entries, position, key=_offset)

    def _rebuild(self, stored: Stored) -> Record:
        key, value, headers = _unpack(stored.packed)
        return Record(
            topic=self.at.topic,
            partition=self.at.partition,
            offset=stored.offset,
            key=key,
            value=value,
            headers=headers,
        )

    def clean(self, now: float) -> None:
        """Remove the records that the cleanup policy does not keep."""
        self._records_since = self._bytes_since = 0
        oldest = now - self._topic.retention_seconds
        if self._topic.compacted:
            self._compact(oldest)
        else:
            self._expire(oldest)

    def delete_before(self, offset: int) -> None:
        """Remove all records before an offset, as an administrator may; the start moves."""
        self._entries = self._entries[self._index_of(offset) :]
        # The start never moves back, and never beyond the end.
        self.start = max(self.start, min(offset, self.end))

    def _compact(self, oldest: float) -> None:
        last = {stored.key: stored for stored in self._entries}
        self._entries = [
            stored
            for stored in sorted(last.values())  # by offset, the first field, which is unique
            if not stored.tombstone or stored.written_at > oldest or stored.offset == self.end - 1
        ]

    def _expire(self, oldest: float) -> None:
        kept = next(
            (i for i, stored in enumerate(self._entries) if stored.written_at > oldest),
            len(self._entries),
        )
        if kept:
            self._entries = self._entries[kept:]
            self.start = self._entries[0].offset if self._entries else self.end
