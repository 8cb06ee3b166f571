"""Clients of the in-memory broker:
a Reader follows given logs, a GroupMember the logs its group assigns.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Protocol

from vc.bus.errors import BusClosedError, TopicMissingError
from vc.bus.interface import Polled
from vc.bus.memory.following import LogFollower
from vc.bus.memory.group import Group
from vc.bus.memory.log import PartitionLog
from vc.clock import Clock
from vc.messages.record import Record, TopicPartition


class MemoryBroker(Protocol):
    """The part of the broker that a client uses."""

    @property
    def running(self) -> bool: ...

    def generation_of(self, topic: str) -> int | None:
        """The number of the topic's creation; None if it does not exist."""
        ...

    async def reached(self) -> None:
        """Wait for the broker within its time limit, else raise BusUnavailableError."""
        ...


class MemoryReader:
    """Reads given partitions, with the contract of `vc.bus.interface.Reader`."""

    def __init__(
        self, clock: Clock, *, broker: MemoryBroker, logs: Mapping[PartitionLog, int]
    ) -> None:
        self._clock = clock
        self._broker = broker
        self._follower = LogFollower(clock, reset_to_start=False)
        self._follower.follow(logs)
        self._closed = False

    async def poll(self, *, max_records: int, wait_seconds: float) -> list[Record]:
        deadline = self._clock.monotonic() + wait_seconds
        await asyncio.sleep(0)  # other tasks must run, however much there is to read
        while True:
            if self._closed:
                raise BusClosedError("this reader was closed")
            running = self._broker.running
            records = self._follower.take(max_records) if running else []
            now = self._clock.monotonic()
            if records or now >= deadline:
                return records
            ready_at = self._follower.ready_at if running else None
            await self._follower.wait(min(deadline, ready_at or deadline) - now)

    def positions(self) -> dict[TopicPartition, int]:
        return dict(self._follower.positions)

    async def close(self) -> None:
        self._closed = True
        self._follower.let_go()


class MemoryMember:
    """A consumer group member, with the contract of `vc.bus.interface.GroupMember`."""

    def __init__(
        self,
        clock: Clock,
        *,
        broker: MemoryBroker,
        group: Group,
        topics: Iterable[str],
        from_start: Iterable[str],
        from_end: Iterable[str],
    ) -> None:
        self.topics = tuple(topics)
        self.polling = False
        self.last_polled_at = 0.0
        self._clock = clock
        self._broker = broker
        self._group = group
        self._from_start = frozenset(from_start)
        self._from_end = frozenset(from_end)
        # A topic that is deleted and created again has a new number, which reveals the wipe.
        self._generations = {topic: broker.generation_of(topic) for topic in self.topics}
        self._follower = LogFollower(clock, reset_to_start=True)
        self._assigned: frozenset[TopicPartition] = frozenset()
        self._generation = 0
        self._outdated = False
        self._closed = False
        group.join(self)

    def rebalanced(self) -> None:
        self._outdated = True
        self._follower.wake()

    async def poll(self, *, max_records: int, wait_seconds: float) -> Polled:
        deadline = self._clock.monotonic() + wait_seconds
        known = self._generation
        self.polling = True
        try:
            await asyncio.sleep(0)  # other tasks must run, however much there is to read
            while True:
                self._check()
                # A poll is the heartbeat of this member.
                self._group.attend(self)
                records = self._take(max_records) if self._broker.running else []
                now = self._clock.monotonic()
                # A new assignment is reported at once, even without records.
                if records or now >= deadline or self._generation != known:
                    return Polled(
                        records=records, assigned=self._assigned, generation=self._generation
                    )
                await self._follower.wait(self._wake_at(deadline) - now)
        finally:
            self.polling = False
            self.last_polled_at = self._clock.monotonic()

    def _take(self, max_records: int) -> list[Record]:
        if self._outdated:
            self._take_over()
        return self._follower.take(max_records)

    def _take_over(self) -> None:
        """Begin a new generation: position every assigned log by its rule."""
        logs = self._group.assigned(self)
        # Copied first, because `follow` drops all positions.
        kept = dict(self._follower.positions)
        self._follower.follow({log: self._begin(log, kept) for log in logs})
        self._assigned = frozenset(log.at for log in logs)
        self._generation += 1
        self._outdated = False

    def _begin(self, log: PartitionLog, kept: Mapping[TopicPartition, int]) -> int:
        if log.at.topic in self._from_start:
            return log.start
        if log.at.topic in self._from_end:
            return kept.get(log.at, log.end)
        return self._group.committed.get(log.at, log.start)

    def _wake_at(self, deadline: float) -> float:
        ready_at = self._follower.ready_at if self._broker.running else None
        # Wake up for expired members too: their partitions may become ours.
        moments = (deadline, ready_at, self._group.next_expiry())
        return min(moment for moment in moments if moment is not None)

    def _check(self) -> None:
        if self._closed:
            raise BusClosedError("this member was closed")
        for topic, generation in self._generations.items():
            if self._broker.generation_of(topic) != generation:
                raise TopicMissingError(f"{topic} was deleted while its group read it")

    async def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        if self._closed:
            raise BusClosedError("this member was closed")
        await self._broker.reached()
        self._group.commit(self, positions)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._follower.let_go()
            self._group.leave(self)
