"""Where a follower's records come from: all partitions, or our share of them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from vc_bus import Bus, Member, Reader
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import PARTITIONS
from vc_runtime.progress_reader import POLL_RECORDS_MAX


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What one poll of a source brought."""

    records: list[Record]
    assigned: frozenset[int] | None = None
    """Partitions that are read from here on as `open` was told; None when nothing changed."""


class Source(Protocol):
    """Hands out records of facts and of extra topics."""

    async def open(self, resume: Mapping[TopicPartition, int]) -> None:
        """Connect; records come from these offsets, of other logs from the beginning."""
        ...

    async def poll(self, wait_seconds: float) -> Taken:
        """The next records."""
        ...

    async def commit(self, positions: dict[TopicPartition, int]) -> None:
        """Everything before these has had its effect."""
        ...

    async def close(self) -> None:
        """Let go."""
        ...


class AllPartitions:
    """Reads whole topics, without a group."""

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
        self._reader = await self._bus.reader({**positions, **resume})
        self._fresh = True

    async def poll(self, wait_seconds: float) -> Taken:
        assert self._reader is not None
        fresh = self._fresh
        records = await self._reader.poll(
            max_records=POLL_RECORDS_MAX, wait_seconds=0.0 if fresh else wait_seconds
        )
        self._fresh = False
        return Taken(records=records, assigned=frozenset(range(PARTITIONS)) if fresh else None)

    async def commit(self, positions: dict[TopicPartition, int]) -> None:
        """Nobody shares with us: there is nothing to tell."""

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None


class SharedPartitions:
    """Reads the partitions that a consumer group gives us.

    The group only says which are ours. On every change of that, all of ours are read again from
    their beginnings; extra topics only from their ends. There is no resuming: which share will be
    ours is not known when it is opened.
    """

    def __init__(self, bus: Bus, group: str, *, facts: Sequence[str], extra: Sequence[str]) -> None:
        self._bus = bus
        self._group = group
        self._facts = facts
        self._extra = extra
        self._member: Member | None = None
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

    async def poll(self, wait_seconds: float) -> Taken:
        assert self._member is not None
        polled = await self._member.poll(max_records=POLL_RECORDS_MAX, wait_seconds=wait_seconds)
        if polled.generation == self._generation:
            return Taken(records=polled.records)
        self._generation = polled.generation
        ours = frozenset(log.partition for log in polled.assigned)
        return Taken(records=polled.records, assigned=ours)

    async def commit(self, positions: dict[TopicPartition, int]) -> None:
        if self._member is not None:
            await self._member.commit(positions)

    async def close(self) -> None:
        if self._member is not None:
            await self._member.close()
            self._member = None
