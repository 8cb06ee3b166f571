"""A group member: subscribed, range assignor, manual commits.

aiokafka's coordinator calls the rebalance listener at any time. Between a revocation and the end of
the next assignment no record is returned, so every record belongs to the generation it is returned
with. The listener does the seeks. Logs of `from_start` are read from the beginning. Logs of
`from_end` continue at our position if we had them, and otherwise begin at the end. All others are
at their committed offsets.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka import TopicPartition as KafkaPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from vc.bus.errors import BusClosedError, BusUnavailableError
from vc.bus.interface import Polled
from vc.bus.kafka.broker import Broker
from vc.bus.kafka.config import REQUEST_SECONDS_MAX, KafkaConfig
from vc.bus.kafka.consuming import current_positions, fetch, fetch_settings, records_of, start, stop
from vc.bus.kafka.errors import FORBIDDEN, as_bus_error, naming_user, translated
from vc.bus.kafka.reader import RECONNECT_SECONDS
from vc.bus.kafka.watchdog import LOOK_SECONDS, Watchdog
from vc.bus.waiting import resolve, wait_until
from vc.clock import Clock
from vc.messages.record import Record, TopicPartition

SESSION_SECONDS: Final = 10.0
"""A member without heartbeats for this time has lost its partitions."""
HEARTBEAT_SECONDS: Final = 1.0
"""Heartbeat interval, which is also the time until a member learns of a rebalance."""
JOIN_SECONDS_MAX: Final = 60.0
"""If the group has assigned nothing within this time, we join again."""
SEEK_SECONDS_MAX: Final = REQUEST_SECONDS_MAX
"""Time limit for the seeks of one assignment."""
POLL_GAP_SECONDS_MAX: Final = 120.0
"""A member that does not poll for this time leaves the group automatically."""


class KafkaMember(ConsumerRebalanceListener):  # type: ignore[misc]
    """A consumer group member on Kafka, with the contract of `vc.bus.interface.GroupMember`."""

    def __init__(
        self,
        config: KafkaConfig,
        *,
        broker: Broker,
        clock: Clock,
        group: str,
        topics: Iterable[str],
        from_start: Iterable[str],
        from_end: Iterable[str],
        closed: Callable[["KafkaMember"], None],
    ) -> None:
        self._topics = tuple(topics)
        self.watchdog = Watchdog(clock, broker=broker, topics=frozenset(self._topics))
        self._config = config
        self._clock = clock
        self._group = group
        self._from_start = frozenset(from_start)
        self._from_end = frozenset(from_end)
        self._consumer: AIOKafkaConsumer | None = None
        self._assigned: frozenset[TopicPartition] = frozenset()
        self._generation = 0
        self._rebalancing = True
        """True from a revocation until the seeks of the next assignment are done."""
        self._rebalancing_since = clock.monotonic()
        self._assignment_failed = False
        """The seeks of the assignment failed; this consumer returns no more records."""
        self._waiter: asyncio.Future[None] | None = None
        self._positions: dict[TopicPartition, int] = {}
        """Next offsets of logs in which we read or sought in this generation."""
        self._closed = False
        self._on_closed = closed

    # -- the group -------------------------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: Any) -> None:  # noqa: ARG002 - aiokafka's name
        # From here on no record may be returned: its partition may already have another owner.
        self._begin_rebalance()

    async def on_partitions_assigned(self, assigned: Iterable[KafkaPartition]) -> None:
        consumer = self._consumer
        # A consumer that was ended may still call its listener; its assignment is void.
        if consumer is None:
            return
        logs = frozenset(TopicPartition(*at) for at in assigned)
        try:
            async with asyncio.timeout(SEEK_SECONDS_MAX):
                await self._seek_all(consumer, logs)
        except Exception:
            self._fail_assignment(consumer)
            raise  # aiokafka only logs it and continues
        # The seeks were awaited, and a poll may have replaced this consumer meanwhile.
        if self._consumer is not consumer:
            return
        self._assigned = logs
        # Only after the seeks: records of this generation must come from the new positions.
        self._generation += 1
        self._rebalancing = False
        self.watchdog.restart_consumer()
        self._wake()

    async def _seek_all(self, consumer: AIOKafkaConsumer, logs: Iterable[TopicPartition]) -> None:
        """Seek in all assigned logs.
        The old positions are replaced only after all seeks succeeded.
        """
        positions: dict[TopicPartition, int] = {}
        to_end: list[KafkaPartition] = []
        for at in sorted(logs):
            if at.topic in self._from_start:
                # An offset before the start is reset to the start, by `auto_offset_reset`.
                positions[at] = 0
            # Seeking to the end again would skip what was published during the rebalance.
            elif at.topic in self._from_end and at in self._positions:
                positions[at] = self._positions[at]
            elif at.topic in self._from_end:
                to_end.append(KafkaPartition(*at))
        for at, offset in positions.items():
            consumer.seek(KafkaPartition(*at), offset)
        if to_end:
            await consumer.seek_to_end(*to_end)
            # Stored at once: after a rebalance before the first record we would otherwise seek to a
            # later end, and lose what lies between.
            for place in to_end:
                positions[TopicPartition(*place)] = await consumer.position(place)
        # Replaced only now: a failed seek must not lose the old positions.
        self._positions = positions

    def _fail_assignment(self, consumer: AIOKafkaConsumer) -> None:
        """Without valid positions nothing may be read: the next poll joins again soon."""
        if self._consumer is consumer:
            self._assignment_failed = True
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None:
            resolve(self._waiter)

    def _begin_rebalance(self) -> None:
        self._rebalancing_since = self._clock.monotonic()
        self._rebalancing = True
        self._assignment_failed = False
        self._assigned = frozenset()

    # -- reading ---------------------------------------------------------------------------------

    async def poll(self, *, max_records: int, wait_seconds: float) -> Polled:
        deadline = self._clock.monotonic() + wait_seconds
        known = self._generation
        while True:
            if self._closed:
                raise BusClosedError("this member was closed")
            with naming_user(self._config.sasl_username):
                await self.watchdog.look()
            if await self._is_stalled():
                await self._end_consumer()
            # In steps of the check interval, so that a long poll notices a deleted topic in time.
            rest = max(0.0, deadline - self._clock.monotonic())
            records = await self._fetch(max_records, wait_seconds=min(rest, LOOK_SECONDS))
            self.watchdog.took(len(records), requested=max_records)
            # A new generation is reported without records, because its partitions must be read from
            # the beginning before the next decision (docs/protocol.md 9).
            if records or self._generation != known or self._clock.monotonic() >= deadline:
                return Polled(records=records, assigned=self._assigned, generation=self._generation)

    async def _fetch(self, max_records: int, *, wait_seconds: float) -> list[Record]:
        try:
            consumer = self._consumer or await self.connect()
        except BusUnavailableError:
            await self._clock.sleep(min(wait_seconds, RECONNECT_SECONDS))
            return []
        if self._is_rebalancing():
            await self._wait_for_assignment(wait_seconds)
            return []
        try:
            got = await fetch(consumer, max_records=max_records, wait_seconds=wait_seconds)
        except FORBIDDEN as error:
            with naming_user(self._config.sasl_username):
                raise as_bus_error(error, what=f"reading in group {self._group}") from error
        except KafkaError:
            await self._end_consumer()  # the coordinator or the fetcher died, so join again
            return []
        if self._is_rebalancing():
            # The rebalance happened during the fetch, so these records have no owner yet.
            self._give_back(consumer, got)
            return []
        records = records_of(got)
        # Compaction leaves gaps, so the position follows the offset and not the number of records.
        for record in records:
            self._positions[record.log] = record.offset + 1
        return records

    def _is_rebalancing(self) -> bool:
        """A method rather than the attribute, because the value changes during awaits."""
        return self._rebalancing

    async def _wait_for_assignment(self, seconds: float) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await wait_until(self._waiter, clock=self._clock, seconds=seconds)
        finally:
            self._waiter = None

    def _give_back(self, consumer: AIOKafkaConsumer, got: Mapping[KafkaPartition, Any]) -> None:
        """Seek back to records that were fetched before the rebalance,
        so that logs with commits are read again.
        """
        for at, batch in got.items():
            if batch and at in consumer.assignment():
                consumer.seek(at, batch[0].offset)

    async def _is_stalled(self) -> bool:
        """Whether there was no assignment for too long, or a log with lag does not advance.

        Checked before anything is fetched, so that a poll that is abandoned loses no records.
        """
        consumer = self._consumer
        if consumer is None:
            return False
        if self._is_rebalancing():
            waited_seconds = self._clock.monotonic() - self._rebalancing_since
            # After failed seeks the group considers itself assigned, so waiting longer is useless.
            bound = RECONNECT_SECONDS if self._assignment_failed else JOIN_SECONDS_MAX
            return waited_seconds > bound
        if not self.watchdog.due():
            return False
        known = {at: self._positions.get(at) for at in self._assigned}
        return self._misses_topic(consumer) or await self.watchdog.stalled(
            await current_positions(consumer, known)
        )

    def _misses_topic(self, consumer: AIOKafkaConsumer) -> bool:
        """Whether aiokafka considers a topic missing that exists.

        A group that is joined between a topic's deletion and its creation gets no partitions of it,
        and aiokafka checks again only when its metadata expires.
        """
        return not all(map(consumer.partitions_for_topic, self._topics))

    async def connect(self) -> AIOKafkaConsumer:
        """Join the group; the assignment follows later."""
        consumer = AIOKafkaConsumer(
            **fetch_settings(self._config),
            group_id=self._group,
            auto_offset_reset="earliest",
            # By range, topics of equal partition count are co-partitioned, so a member owns whole
            # jobs (docs/protocol.md 1).
            partition_assignment_strategy=[RangePartitionAssignor],
            session_timeout_ms=int(SESSION_SECONDS * 1000),
            heartbeat_interval_ms=int(HEARTBEAT_SECONDS * 1000),
            max_poll_interval_ms=int(POLL_GAP_SECONDS_MAX * 1000),
        )
        self._begin_rebalance()
        # Before the start, because the coordinator may call the listener while we await it.
        self._consumer = consumer
        consumer.subscribe(self._topics, listener=self)
        try:
            await start(consumer)
        except BaseException:
            self._consumer = None
            raise
        if self._closed:  # closed meanwhile, so no one else would stop this consumer
            await stop(consumer)
            raise BusClosedError("this member was closed")
        return consumer

    async def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        if self._closed:
            raise BusClosedError("this member was closed")
        ours = {
            KafkaPartition(*at): offset for at, offset in positions.items() if at in self._assigned
        }
        # Positions of lost partitions belong to their new owner.
        if not ours or self._consumer is None:
            return
        with translated(f"committing for {self._group}"):
            try:
                async with asyncio.timeout(REQUEST_SECONDS_MAX):
                    await self._consumer.commit(ours)
            except (CommitFailedError, IllegalStateError):
                return  # the partitions were reassigned; the new owner commits

    async def _end_consumer(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._begin_rebalance()
        if consumer is not None:
            await stop(consumer)

    async def close(self) -> None:
        if not self._closed:
            # Before the await, so that a pending poll keeps no new consumer.
            self._closed = True
            self._on_closed(self)
            await self._end_consumer()
            self._wake()
