"""The in-memory broker, with controls for tests.

`stop` and `start` simulate an outage, `delete_topics` a wipe, and `compact` the log cleaner. While
the broker is stopped, readers get nothing and all other calls wait for a bounded time and then
raise BusUnavailableError, as with a real broker.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from vc.bus.errors import (
    BusClosedError,
    BusError,
    BusUnavailableError,
    TopicMismatchError,
    TopicMissingError,
)
from vc.bus.in_flight import IN_FLIGHT_BYTES_MAX, InFlight
from vc.bus.limits import checked_bytes
from vc.bus.memory.clients import MemoryMember, MemoryReader
from vc.bus.memory.faults import FaultDice, Faults
from vc.bus.memory.group import SESSION_SECONDS, Group
from vc.bus.memory.log import PartitionLog
from vc.bus.waiting import resolve, wait_until
from vc.clock import Clock
from vc.messages.record import Message, TopicPartition
from vc.messages.topics import Topic

UNAVAILABLE_AFTER_SECONDS: Final = 10.0
"""How long a call waits for the broker or for free in-flight bytes before BusUnavailableError."""


class _TopicState:
    """An existing topic: its declaration, a number for its creation, and its logs."""

    def __init__(self, topic: Topic, *, generation: int) -> None:
        self.declared = topic
        self.generation = generation
        self.logs = [PartitionLog(topic, number) for number in range(topic.partitions)]


class MemoryBus:
    """The in-memory twin of the bus, with the contract of `vc.bus.interface.Bus`."""

    def __init__(
        self,
        clock: Clock,
        *,
        seed: int | None = None,
        faults: Faults | None = None,
        session_seconds: float = SESSION_SECONDS,
        in_flight_bytes_max: int = IN_FLIGHT_BYTES_MAX,
        unavailable_after_seconds: float = UNAVAILABLE_AFTER_SECONDS,
    ) -> None:
        self.in_flight = InFlight(clock, bytes_max=in_flight_bytes_max)
        self._clock = clock
        self._dice = FaultDice(faults, seed=seed)
        self._session_seconds = session_seconds
        self._unavailable_after_seconds = unavailable_after_seconds
        self._topics: dict[str, _TopicState] = {}
        self._generations = 0
        self._groups: dict[str, Group] = {}
        self._stopped = False
        self._outage_waiters: dict[asyncio.Future[None], None] = {}
        self._closed = False

    # -- topics ----------------------------------------------------------------------------------

    async def ensure_topics(self, topics: Iterable[Topic]) -> list[str]:
        await self.reached()
        wanted = list(topics)
        # Verify before creating anything, so that a mismatch leaves no half-made set of topics.
        for topic in wanted:
            if topic.name in self._topics:
                _verify(topic, self._topics[topic.name].declared)
        missing = [topic for topic in wanted if topic.name not in self._topics]
        for topic in missing:
            self._generations += 1
            self._topics[topic.name] = _TopicState(topic, generation=self._generations)
        return [topic.name for topic in missing]

    async def missing_topics(self, topics: Iterable[Topic]) -> list[str]:
        await self.reached()
        return [topic.name for topic in topics if topic.name not in self._topics]

    async def start_offsets(self, topic: str) -> list[int]:
        await self.reached()
        return [log.start for log in self._state(topic).logs]

    async def end_offsets(self, topic: str) -> list[int]:
        await self.reached()
        return [log.end for log in self._state(topic).logs]

    def generation_of(self, topic: str) -> int | None:
        state = self._topics.get(topic)
        return state.generation if state else None

    def _state(self, topic: str) -> _TopicState:
        state = self._topics.get(topic)
        if state is None:
            raise TopicMissingError(f"there is no topic {topic}")
        return state

    def _logs_of(self, topic: str) -> Sequence[PartitionLog]:
        return self._topics[topic].logs if topic in self._topics else []

    def _log(self, topic: str, partition: int) -> PartitionLog:
        logs = self._state(topic).logs
        if not 0 <= partition < len(logs):
            raise BusError(f"{topic} has partitions 0 to {len(logs) - 1}, not {partition}")
        return logs[partition]

    # -- writing ---------------------------------------------------------------------------------

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        size = sum(checked_bytes(message) for message in messages)
        async with self.in_flight.reserve(size, wait_seconds=self._unavailable_after_seconds):
            await asyncio.sleep(0)  # so that a publisher in a loop does not starve other tasks
            await self.reached()
            # Look up all logs first: a missing topic must not leave half of the batch published.
            logs = [self._log(message.topic, message.partition) for message in messages]
            now = self._clock.monotonic()
            # Without faults nothing is awaited here, so messages of one publish stay together.
            if self._dice.quiet:
                return [
                    log.append(message, now=now, delay_seconds=0.0)
                    for log, message in zip(logs, messages, strict=True)
                ]
            return await self._publish_faultily(logs, messages)

    async def _publish_faultily(
        self, logs: Sequence[PartitionLog], messages: Sequence[Message]
    ) -> list[int]:
        """Publish with faults: delays, a producer's retry that stores the batch twice,
        late or lost acknowledgements.
        """
        now = self._clock.monotonic()
        offsets: list[int] = []
        # A copy comes behind the whole batch, as a producer's retry would store it.
        for _ in range(self._dice.copies()):
            offsets = [
                log.append(message, now=now, delay_seconds=self._dice.delay_seconds())
                for log, message in zip(logs, messages, strict=True)
            ]
        await self._clock.sleep(self._dice.acknowledge_seconds())
        if self._dice.acknowledgement_lost():
            raise BusUnavailableError("the acknowledgement was lost; the messages may be there")
        return offsets

    # -- reading ---------------------------------------------------------------------------------

    async def reader(self, positions: Mapping[TopicPartition, int]) -> MemoryReader:
        await self.reached()
        logs = {self._log(*at): position for at, position in positions.items()}
        return MemoryReader(self._clock, broker=self, logs=logs)

    async def member(
        self,
        group: str,
        topics: Sequence[str],
        *,
        from_start: Iterable[str] = (),
        from_end: Iterable[str] = (),
    ) -> MemoryMember:
        await self.reached()
        for topic in topics:
            self._state(topic)
        if group not in self._groups:
            self._groups[group] = Group(
                self._clock, logs_of=self._logs_of, session_seconds=self._session_seconds
            )
        return MemoryMember(
            self._clock,
            broker=self,
            group=self._groups[group],
            topics=topics,
            from_start=from_start,
            from_end=from_end,
        )

    async def lag(self, group: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
        await self.reached()
        committed = self._groups[group].committed if group in self._groups else {}
        return {
            log.at: log.end - max(log.start, committed.get(log.at, log.start))
            for topic in topics
            for log in self._state(topic).logs
        }

    async def close(self) -> None:
        self._closed = True
        # Calls that wait for the broker end now instead of at their time limit.
        self.start()

    # -- the broker, for tests and simulations ---------------------------------------------------

    @property
    def running(self) -> bool:
        return not self._stopped

    async def reached(self) -> None:
        """Wait for the broker within the time limit, else raise BusUnavailableError."""
        self._check_open()
        if self._stopped:
            await self._outlast()
            self._check_open()

    async def _outlast(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._outage_waiters[waiter] = None
        try:
            await wait_until(waiter, clock=self._clock, seconds=self._unavailable_after_seconds)
        finally:
            self._outage_waiters.pop(waiter, None)
        if self._stopped:
            raise BusUnavailableError(f"no broker for {self._unavailable_after_seconds:g} s")

    def _check_open(self) -> None:
        if self._closed:
            raise BusClosedError("this bus was closed")

    def stop(self) -> None:
        """Begin an outage; no data is lost."""
        self._stopped = True

    def start(self) -> None:
        """End the outage, and resume all waiting calls."""
        self._stopped = False
        for waiter in self._outage_waiters:
            resolve(waiter)
        self._wake_readers()

    def compact(self) -> None:
        """Clean every log: compaction, tombstone expiry, retention."""
        now = self._clock.monotonic()
        for state in self._topics.values():
            for log in state.logs:
                log.clean(now)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Move the starts of logs, as an administrator may."""
        for at, offset in before.items():
            self._log(*at).delete_before(offset)

    def delete_topics(self, names: Iterable[str] | None = None) -> None:
        """Delete topics (all by default) and their commits, even if they are being read."""
        for name in list(self._topics) if names is None else list(names):
            for log in self._topics.pop(name).logs:
                log.wiped = True
                log.changed()
            for group in self._groups.values():
                group.forget_topic(name)

    def _wake_readers(self) -> None:
        for state in self._topics.values():
            for log in state.logs:
                log.changed()


def _verify(wanted: Topic, found: Topic) -> None:
    """Compare the settings that matter to a reader."""
    for field in ("partitions", "compacted", "retention_seconds"):
        if getattr(wanted, field) != getattr(found, field):
            raise TopicMismatchError(
                f"{wanted.name}: {field} is {getattr(found, field)}, "
                f"declared is {getattr(wanted, field)}"
            )
