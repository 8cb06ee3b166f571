"""One partition of a topic: an append-only log with Kafka's ways of forgetting.

Offsets are never reused and never change. A compacted log keeps the last record of each key and
drops tombstones after the topic's retention; its start does not move, offsets just have gaps. Any
other log forgets by age and its start moves. The very last record of a compacted log always stays,
as Kafka never cleans the active segment: so a reader's position always reaches the end.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

import msgspec

from vc_bus.limits import POLL_BYTES_MAX
from vc_messages.record import Message, Record, TopicPartition
from vc_messages.topics import Topic

COMPACT_AFTER_RECORDS: Final = 10_000
"""A log compacts or expires itself when it took so many records since the last time."""
COMPACT_AFTER_BYTES: Final = 16 * 1024 * 1024
"""Or so many bytes."""

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(tuple[str, bytes | None, dict[str, str]]).decode
_offset: Final = attrgetter("offset")


class Stored(NamedTuple):
    """A record at rest: packed, with what compaction must know."""

    offset: int
    key: str
    tombstone: bool
    packed: bytes
    written_at: float
    visible_at: float


class Batch(NamedTuple):
    """Some records, where to go on, and from when on there are more (None: at the end)."""

    records: list[Record]
    position: int
    more_at: float | None


class Listener(Protocol):
    """Wants to know when a log changed."""

    def log_changed(self, at: TopicPartition) -> None: ...


class PartitionLog:
    """Invariant: entries are sorted by offset, and visible no earlier than their predecessors."""

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
        """Write one message and wake who follows; its offset."""
        offset = self.end
        packed = _pack((message.key, message.value, message.headers))
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
        """Tell everyone who follows."""
        for listener in self.listeners:
            listener.log_changed(self.at)

    def read(self, position: int, *, limit: int, now: float) -> Batch:
        """The next records at or after a position."""
        entries = self._entries
        index = self._index_of(position)
        records: list[Record] = []
        size = 0
        while index < len(entries) and len(records) < limit and size < POLL_BYTES_MAX:
            stored = entries[index]
            if stored.visible_at > now:
                return Batch(records, position, stored.visible_at)
            records.append(self._rebuild(stored))
            size += len(stored.packed)
            position = stored.offset + 1
            index += 1
        return Batch(records, position, now if index < len(entries) else None)

    def _index_of(self, position: int) -> int:
        entries = self._entries
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
        """Forget what the policy allows to forget."""
        self._records_since = self._bytes_since = 0
        oldest = now - self._topic.retention_seconds
        if self._topic.compacted:
            self._compact(oldest)
        else:
            self._expire(oldest)

    def delete_before(self, offset: int) -> None:
        """Forget everything before an offset, as an administrator may; the start moves."""
        self._entries = self._entries[self._index_of(offset) :]
        self.start = max(self.start, min(offset, self.end))

    def _compact(self, oldest: float) -> None:
        last = {stored.key: stored for stored in self._entries}
        self._entries = [
            stored
            for stored in sorted(last.values())  # by offset, which comes first and is its own
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
