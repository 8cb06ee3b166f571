"""Publishing: batches per log, acknowledged by all replicas, in order, with back-pressure.

A publish builds one batch per log (or several, if they fill up) and waits for all of them. The
producer is idempotent, so its own retries leave no duplicates. A failed producer is not used again,
because its sequence numbers may have a gap that the broker would reject forever. All publishes of
the failed producer end first, so that none of its messages can arrive after newer ones.

Every wait has a time limit of ours. An idempotent producer never abandons a batch (aiokafka retries
until it succeeds), and a sender that hangs would block the publishing service, which may hold a
lease.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from aiokafka import AIOKafkaProducer

from vc.bus.errors import BusError, BusUnavailableError
from vc.bus.in_flight import InFlight
from vc.bus.kafka.broker import Broker
from vc.bus.kafka.config import REQUEST_SECONDS_MAX, KafkaConfig
from vc.bus.kafka.ending import end
from vc.bus.kafka.errors import KAFKA_FAULTS, as_bus_error, translated
from vc.bus.kafka.pacing import pace_metadata
from vc.bus.limits import TOPIC_MESSAGE_BYTES_MAX, checked_bytes
from vc.clock import Clock
from vc.messages.record import Message, TopicPartition

BATCH_BYTES_MAX: Final = 512 * 1024
"""A batch is sent when it is full; a larger message gets its own batch."""
IN_FLIGHT_SECONDS_MAX: Final = 10.0
"""How long a publish waits for free in-flight bytes, and for its turn to submit a batch."""
ACKNOWLEDGED_SECONDS_MAX: Final = 2 * REQUEST_SECONDS_MAX
"""From the submission of the last batch to all acknowledgements:
enough for one lost request and another one.
"""
LINGER_MS: Final = 0
"""A publish is a batch already; waiting for more messages would only add latency."""

Turns: TypeAlias = defaultdict[TopicPartition, asyncio.Lock]
"""One lock per log for submitting batches. aiokafka accepts one waiting batch per log, and with
many callers its measurement of their waiting time runs ahead of the clock, so callers queue here.
"""


class KafkaPublisher:
    """Owns the one producer of a bus."""

    def __init__(self, config: KafkaConfig, *, broker: Broker, clock: Clock) -> None:
        self.in_flight = InFlight(clock)
        self._config = config
        self._broker = broker
        self._changing = asyncio.Lock()
        self._producer: AIOKafkaProducer | None = None
        self._failed = False
        self._under_way = 0
        self._all_done = asyncio.Event()
        self._turns: Turns = defaultdict(asyncio.Lock)

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        size = sum(checked_bytes(message) for message in messages)
        if not messages:
            return []
        # Check before waiting for in-flight bytes, which a missing topic would only hold.
        await self._check_logs(messages)
        async with self.in_flight.reserve(size, wait_seconds=IN_FLIGHT_SECONDS_MAX):
            producer = await self._healthy_producer()
            # Counted with the choice of the producer: a publish that is not counted could lose its
            # producer to `_retire` in the middle of sending.
            self._under_way += 1
            try:
                return await self._send(producer, messages)
            except BusError as error:
                # The sequence numbers of this producer may have a gap now.
                self._failed = True
                await self._explain(messages, error)
                raise
            finally:
                self._under_way -= 1
                if self._under_way == 0:
                    self._all_done.set()

    async def _explain(self, messages: Sequence[Message], error: BusError) -> None:
        """Raise TopicMissingError if the topic was deleted,
        which aiokafka reports as a missing leader.
        """
        if isinstance(error, BusUnavailableError):
            # The cached answer may still list a topic that was deleted within the last second.
            self._broker.forget_known()
            # An unreachable broker says nothing about its topics, so the first error stays.
            with suppress(BusUnavailableError):
                await self._broker.check_there(message.topic for message in messages)

    async def _check_logs(self, messages: Sequence[Message]) -> None:
        """Check topics and partitions first, because aiokafka would wait for a missing topic.

        If the broker is unreachable, the last known partitions are used and the producer waits for
        it.
        """
        topics = {message.topic for message in messages}
        try:
            partitions = await self._broker.check_there(topics)
        except BusUnavailableError:
            # During an outage the last answer is good enough: the producer will wait.
            partitions = self._broker.last_known(topics)
            if len(partitions) < len(topics):
                raise
        for message in messages:
            if not 0 <= message.partition < partitions[message.topic]:
                raise BusError(
                    f"{message.topic} has partitions 0 to {partitions[message.topic] - 1}, "
                    f"not {message.partition}"
                )

    async def _send(self, producer: AIOKafkaProducer, messages: Sequence[Message]) -> list[int]:
        """Submit every batch, then wait for all of them, even if one fails."""
        sending = _Sending(producer, self._turns)
        failure: BusError | None = None
        try:
            for message in messages:
                await sending.add(message)
            await sending.submit_all()
        except KAFKA_FAULTS as error:
            failure = as_bus_error(error, what="publishing")
        # Batches submitted before the failure must end before the producer is retired.
        offsets = await sending.offsets(len(messages))
        if failure is not None:
            raise failure
        return offsets

    async def _healthy_producer(self) -> AIOKafkaProducer:
        async with self._changing:
            if self._failed:
                await self._retire()
            if self._producer is None:
                producer = AIOKafkaProducer(
                    **self._config.client_settings(),
                    # Progress announces what the bus has acknowledged, so that must not be lost
                    # with one broker (docs/protocol.md 5).
                    acks="all",
                    # The client's own retries must not reorder a log: its order decides which fact
                    # is the newest (docs/protocol.md 2).
                    enable_idempotence=True,
                    linger_ms=LINGER_MS,
                    max_batch_size=BATCH_BYTES_MAX,
                    max_request_size=TOPIC_MESSAGE_BYTES_MAX * 2,
                )
                pace_metadata(producer.client)
                with translated("connecting"):
                    try:
                        async with asyncio.timeout(REQUEST_SECONDS_MAX):
                            await producer.start()
                    # Also on cancellation: a half-started producer keeps connections.
                    except BaseException:
                        await _end(producer)
                        raise
                self._producer = producer
            return self._producer

    async def _retire(self) -> None:
        """Wait until all publishes of the failed producer have ended, then close it."""
        while self._under_way:
            # An earlier publish may have left the event set, and the loop would not wait at all.
            self._all_done.clear()
            await self._all_done.wait()
        producer, self._producer = self._producer, None
        self._failed = False
        if producer is not None:
            await _end(producer)

    async def close(self) -> None:
        """Flush pending batches and close the producer."""
        async with self._changing:
            producer, self._producer = self._producer, None
            if producer is not None:
                await _end(producer)


async def _end(producer: AIOKafkaProducer) -> None:
    """Flush within the time limit and close; afterwards the producer sends nothing more."""
    await end(producer.stop())
    sender = producer._sender.sender_task  # noqa: SLF001 - a flush that was given up leaves it at work
    if sender is not None:
        sender.cancel()
    await end(producer.client.close())


class _Sending:
    """One publish: open batches, submitted batches, and the position of each message."""

    def __init__(self, producer: AIOKafkaProducer, turns: Turns) -> None:
        self._producer = producer
        self._turns = turns
        self._open: dict[TopicPartition, tuple[object, int]] = {}
        """The open batch of each log, and the batch's number."""
        self._futures: dict[int, asyncio.Future[object]] = {}
        self._batches = 0
        self._offsets: list[tuple[int, int]] = []
        """For each message the number of its batch and its position in the batch."""

    async def add(self, message: Message) -> None:
        log = TopicPartition(message.topic, message.partition)
        if log not in self._open:
            self._begin(log)
        # The batch is full; submit it, and begin another one for the same log.
        if not self._append(log, message):
            await self._submit(log)
            self._begin(log)
            self._append(log, message)

    def _begin(self, log: TopicPartition) -> None:
        self._open[log] = (self._producer.create_batch(), self._batches)
        self._batches += 1

    def _append(self, log: TopicPartition, message: Message) -> bool:
        batch, number = self._open[log]
        added = batch.append(  # type: ignore[attr-defined]
            timestamp=None,
            key=message.key.encode(),
            value=message.value,
            headers=[(name, text.encode()) for name, text in message.headers.items()],
        )
        if added is None:
            return False
        self._offsets.append((number, added.offset))
        return True

    async def submit_all(self) -> None:
        for log in list(self._open):
            await self._submit(log)

    async def _submit(self, log: TopicPartition) -> None:
        batch, number = self._open.pop(log)
        batch.close()  # type: ignore[attr-defined]
        # Batches of one log are submitted one at a time, which keeps their order.
        async with asyncio.timeout(IN_FLIGHT_SECONDS_MAX), self._turns[log]:
            self._futures[number] = await self._producer.send_batch(
                batch, log.topic, partition=log.partition
            )

    async def offsets(self, count: int) -> list[int]:
        """Wait for every submitted batch within the time limit;
        returns the offsets or raises the first error.
        """
        if self._futures:
            _, hanging = await asyncio.wait(
                self._futures.values(), timeout=ACKNOWLEDGED_SECONDS_MAX
            )
            for future in hanging:
                future.cancel()  # the result is not needed any more
            if hanging:
                raise BusUnavailableError(
                    f"{len(hanging)} of {len(self._futures)} batches were not acknowledged within "
                    f"{ACKNOWLEDGED_SECONDS_MAX:g} s; they may be there"
                )
        for future in self._futures.values():
            error = future.exception()
            if error is not None:
                raise as_bus_error(error, what="publishing") from error
        # A submission failed and left messages without an offset; the caller raises that failure.
        if len(self._offsets) < count:
            return []
        first = {number: future.result() for number, future in self._futures.items()}
        return [
            first[number].offset + place  # type: ignore[attr-defined]
            for number, place in self._offsets
            if number in first
        ]
