"""What a shell may ask of the bus.

Three ways to use it. *Publish* waits until every message is acknowledged, so a cursor that moves
after it never runs ahead of its effect. A *Reader* follows whole logs from given positions without
any group: views are made of it. A *Member* shares partitions with the other members of its group:
on every change of the assignment `generation` grows, and logs named in `from_start` are read from
their beginning again, because a partition is materialised before anything is decided on it.

Partition numbers are chosen by the caller (`vc_messages.partition`), never by the bus.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from vc_messages.record import Message, Record, TopicPartition
from vc_messages.topics import Topic


class Polled(msgspec.Struct, frozen=True, kw_only=True):
    """What a member got in one poll."""

    records: list[Record]
    assigned: frozenset[TopicPartition]
    generation: int
    """Grows with every rebalance this member took part in; 0 before the first."""


class Reader(Protocol):
    """Follows logs; no group, nothing committed."""

    async def poll(self, *, max_records: int, wait_seconds: float) -> list[Record]:
        """The next records, in order within each log; empty when nothing came in time.

        TopicMissingError and OffsetGoneError mean that the log is not the one we were reading.
        """
        ...

    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of each log."""
        ...

    async def close(self) -> None:
        """Stop following."""
        ...


class Member(Protocol):
    """Shares partitions with its group."""

    async def poll(self, *, max_records: int, wait_seconds: float) -> Polled:
        """The next records of the logs that are ours, and which these are."""
        ...

    async def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        """Remember that everything before these offsets has had its effect.

        Offsets of logs that are no longer ours are refused silently: the new owner decides.
        """
        ...

    async def close(self) -> None:
        """Leave the group, so that others take over at once."""
        ...


class Bus(Protocol):
    """Topics, logs, groups."""

    async def ensure_topics(self, topics: Iterable[Topic]) -> list[str]:
        """Create what is missing and verify the policy of what is there; names of the created.

        TopicMismatchError when a topic is not as declared.
        """
        ...

    async def missing_topics(self, topics: Iterable[Topic]) -> list[str]:
        """Which of them are not there."""
        ...

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        """Publish in order (within each log) and wait for all; their offsets.

        After an error some may have arrived: publish again, readers know duplicates.
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
    ) -> Member:
        """Join a group. Topics in neither set are read from the group's committed offsets
        (from the beginning when there are none)."""
        ...

    async def lag(self, group: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
        """Records between a group's commits and the ends of its logs."""
        ...

    async def close(self) -> None:
        """Flush and let go."""
        ...
