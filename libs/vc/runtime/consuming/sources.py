"""Sources of a follower's records: all partitions, or the share of a consumer group."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from vc.bus import Bus, GroupMember, Reader
from vc.messages.record import Record, TopicPartition
from vc.messages.topics import PARTITIONS
from vc.runtime.consuming.progress_reader import POLL_RECORDS_MAX


class PolledRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one poll of a source."""

    records: list[Record]
    assigned: frozenset[int] | None = None
    """The partitions that are read from now on, from the offsets given to `open`;
    None if unchanged.
    """


class PartitionSource(Protocol):
    """Provides records of facts and of extra topics."""

    async def open(self, resume: Mapping[TopicPartition, int]) -> None:
        """Connect and read from these offsets; other logs are read from the beginning."""
        ...

    async def poll(self, wait_seconds: float) -> PolledRecords:
        """Return the next records."""
        ...

    async def commit(self, positions: dict[TopicPartition, int]) -> None:
        """Commit: all records before these positions have been processed."""
        ...

    async def close(self) -> None:
        """Disconnect from the bus. A member leaves its group, and others get its partitions."""
        ...


class AllPartitions:
    """Reads all partitions, without a consumer group."""

    def __init__(self, bus: Bus, topics: Sequence[str]) -> None:
        self._bus = bus
        self._topics = topics
        self._reader: Reader | None = None
        self._fresh = True

    async def open(self, resume: Mapping[TopicPartition, int]) -> None:
        positions: dict[TopicPartition, int] = {}
        for topic in self._topics:
            starts = await self._bus.start_offsets(topic)
            positions.update({TopicPartition(topic, p): start for p, start in enumerate(starts)})
        # Logs without a resumed offset start at their first record, so no fact is left out.
        self._reader = await self._bus.reader({**positions, **resume})
        self._fresh = True

    async def poll(self, wait_seconds: float) -> PolledRecords:
        assert self._reader is not None
        fresh = self._fresh
        records = await self._reader.poll(
            max_records=POLL_RECORDS_MAX, wait_seconds=0.0 if fresh else wait_seconds
        )
        self._fresh = False
        return PolledRecords(
            records=records, assigned=frozenset(range(PARTITIONS)) if fresh else None
        )

    async def commit(self, positions: dict[TopicPartition, int]) -> None:
        """Do nothing: without a group there are no offsets to commit."""

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None


class SharedPartitions:
    """Reads the partitions that a consumer group assigns.

    The group only determines the assignment. On every change all assigned facts are read again from
    the beginning, and extra topics from their ends. A checkpoint cannot be resumed, because the
    assignment is not known when the source is opened.
    """

    def __init__(self, bus: Bus, group: str, *, facts: Sequence[str], extra: Sequence[str]) -> None:
        self._bus = bus
        self._group = group
        self._facts = facts
        self._extra = extra
        self._member: GroupMember | None = None
        self._generation = 0

    async def open(self, resume: Mapping[TopicPartition, int]) -> None:
        assert not resume
        self._generation = 0
        self._member = await self._bus.member(
            self._group,
            [*self._facts, *self._extra],
            from_start=self._facts,
            from_end=self._extra,
        )

    async def poll(self, wait_seconds: float) -> PolledRecords:
        assert self._member is not None
        polled = await self._member.poll(max_records=POLL_RECORDS_MAX, wait_seconds=wait_seconds)
        if polled.generation == self._generation:
            return PolledRecords(records=polled.records)
        self._generation = polled.generation
        ours = frozenset(log.partition for log in polled.assigned)
        return PolledRecords(records=polled.records, assigned=ours)

    async def commit(self, positions: dict[TopicPartition, int]) -> None:
        if self._member is not None:
            await self._member.commit(positions)

    async def close(self) -> None:
        if self._member is not None:
            await self._member.close()
            self._member = None
