"""Follows logs without a group: manual assignment, from given positions, without commits.

Our own positions are authoritative: a consumer that stalls or fails is closed, and a new one
continues from them. A position outside the log is an error, never a reset.
"""

from collections.abc import Callable, Mapping
from typing import Final

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as KafkaPartition
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from vc.bus.errors import BusClosedError, BusUnavailableError
from vc.bus.kafka.broker import Broker
from vc.bus.kafka.config import KafkaConfig
from vc.bus.kafka.consuming import current_positions, fetch, fetch_settings, records_of, start, stop
from vc.bus.kafka.errors import FORBIDDEN, as_bus_error, naming_user
from vc.bus.kafka.watchdog import LOOK_SECONDS, Watchdog
from vc.clock import Clock
from vc.messages.record import Record, TopicPartition

RECONNECT_SECONDS: Final = 0.5
"""Interval between connection attempts within one poll."""


class KafkaReader:
    """Reads given partitions of Kafka, with the contract of `vc.bus.interface.Reader`."""

    def __init__(
        self,
        config: KafkaConfig,
        *,
        broker: Broker,
        clock: Clock,
        positions: Mapping[TopicPartition, int],
        closed: Callable[["KafkaReader"], None],
    ) -> None:
        self.watchdog = Watchdog(
            clock, broker=broker, topics=frozenset(at.topic for at in positions)
        )
        self._config = config
        self._clock = clock
        self._positions = dict(positions)
        self._consumer: AIOKafkaConsumer | None = None
        self._closed = False
        self._on_closed = closed

    async def poll(self, *, max_records: int, wait_seconds: float) -> list[Record]:
        deadline = self._clock.monotonic() + wait_seconds
        while True:
            if self._closed:
                raise BusClosedError("this reader was closed")
            with naming_user(self._config.sasl_username):
                await self.watchdog.look()
            await self._rebuild_if_stalled()
            rest = max(0.0, deadline - self._clock.monotonic())
            records = await self._fetch(max_records, wait_seconds=min(rest, LOOK_SECONDS))
            self.watchdog.took(len(records), requested=max_records)
            if records or self._clock.monotonic() >= deadline:
                return records

    async def _rebuild_if_stalled(self) -> None:
        """Replace a stalled consumer. Checked before anything is fetched, so that a poll that is
        abandoned loses no records.
        """
        consumer = self._consumer
        if consumer is None or not self.watchdog.due():
            return
        if await self.watchdog.stalled(await current_positions(consumer, self._positions)):
            await self._end_consumer()

    async def _fetch(self, max_records: int, *, wait_seconds: float) -> list[Record]:
        try:
            consumer = self._consumer or await self.connect()
        except BusUnavailableError:
            await self._clock.sleep(min(wait_seconds, RECONNECT_SECONDS))
            return []
        try:
            got = await fetch(consumer, max_records=max_records, wait_seconds=wait_seconds)
        # A new consumer would meet the same error again, so these go to the caller.
        except (OffsetOutOfRangeError, *FORBIDDEN) as error:
            with naming_user(self._config.sasl_username):
                raise as_bus_error(error, what="reading") from error
        except KafkaError:
            # aiokafka's fetcher died; the next poll creates another consumer
            await self._end_consumer()
            return []
        records = records_of(got)
        for record in records:
            self._positions[record.log] = record.offset + 1
        return records

    async def connect(self) -> AIOKafkaConsumer:
        """Create a consumer at our positions."""
        # A reset would skip records unnoticed. The error makes the owner drop its view and read the
        # log from its beginning.
        consumer = AIOKafkaConsumer(**fetch_settings(self._config), auto_offset_reset="none")
        await start(consumer)
        if self._closed:  # closed meanwhile, so no one else would stop this consumer
            await stop(consumer)
            raise BusClosedError("this reader was closed")
        self._consumer = consumer
        # A new consumer must not be judged by the time its predecessor was stalled.
        self.watchdog.restart_consumer()
        consumer.assign([KafkaPartition(*at) for at in self._positions])
        for at, offset in self._positions.items():
            consumer.seek(KafkaPartition(*at), offset)
        return consumer

    def positions(self) -> dict[TopicPartition, int]:
        return dict(self._positions)

    async def _end_consumer(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await stop(consumer)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._on_closed(self)
            await self._end_consumer()
