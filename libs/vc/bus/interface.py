"""The interface of the bus.

There are three ways to use it. *Publish* waits until every message is acknowledged, so a cursor
that is committed afterwards never precedes its effect. A *Reader* follows whole logs from given
positions without a group; views use it. A *GroupMember* shares partitions with the other members of its
group. On every change of the assignment `generation` grows, and the logs in `from_start` are read
from the beginning, because a partition is materialised before a decision is based on it.

The caller chooses partition numbers (`vc.messages.partition`), never the bus.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from vc.messages.record import Message, Record, TopicPartition
from vc.messages.topics import Topic


class Polled(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a member's poll."""

    records: list[Record]
    assigned: frozenset[TopicPartition]
    generation: int
    """Grows with every rebalance that this member took part in; 0 before the first."""


class Reader(Protocol):
    """Follows logs without a group; commits nothing."""

    async def poll(self, *, max_records: int, wait_seconds: float) -> list[Record]:
        """The next records, in order within each log; empty if none arrived in time.

        TopicMissingError and OffsetGoneError mean that the log was deleted or created again.
        """
        ...

    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of each log."""
        ...

    async def close(self) -> None:
        """Stop following the logs and disconnect."""
        ...


class GroupMember(Protocol):
    """Shares partitions with the other members of its group."""

    async def poll(self, *, max_records: int, wait_seconds: float) -> Polled:
        """The next records of the assigned logs, together with the assignment."""
        ...

    async def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        """Commit: everything before these offsets has been processed.

        Offsets of logs that are no longer assigned are ignored; the new owner commits them.
        """
        ...

    async def close(self) -> None:
        """Leave the group, so that other members get the partitions at once."""
        ...


class Bus(Protocol):
    """Topics, logs and consumer groups."""

    async def ensure_topics(self, topics: Iterable[Topic]) -> list[str]:
        """Create missing topics and verify existing ones; returns the created names.

        Raises TopicMismatchError if a topic differs from its declaration.
        """
        ...

    async def missing_topics(self, topics: Iterable[Topic]) -> list[str]:
        """The names of those topics that do not exist."""
        ...

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        """Publish in order within each log, and wait for all; returns the offsets.

        After an error some messages may have arrived. Publish again: readers handle duplicates.
        """
        ...

    async def start_offsets(self, topic: str) -> list[int]:
        """The first readable offset of each partition."""
        ...

    async def end_offsets(self, topic: str) -> list[int]:
        """The offset that the next message of each partition will get."""
        ...

    async def reader(self, positions: Mapping[TopicPartition, int]) -> Reader:
        """Follow these logs from these offsets."""
        ...

    async def member(
        self,
        group: str,
        topics: Sequence[str],
        *,
        from_start: Iterable[str] = (),
        from_end: Iterable[str] = (),
    ) -> GroupMember:
        """Join a group. Topics in neither set are read from the group's committed offsets, or from
        the beginning if there are none.
        """
        ...

    async def lag(self, group: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
        """The number of records between a group's commits and the ends of its logs."""
        ...

    async def close(self) -> None:
        """Flush pending messages and close all connections."""
        ...
