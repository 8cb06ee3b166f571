"""The Kafka implementation of the bus. Closing it closes all clients that it created."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from vc.bus.errors import BusClosedError, BusError, BusForbiddenError
from vc.bus.in_flight import InFlight
from vc.bus.kafka.broker import Broker
from vc.bus.kafka.config import KafkaConfig
from vc.bus.kafka.errors import naming_user
from vc.bus.kafka.member import KafkaMember
from vc.bus.kafka.publisher import KafkaPublisher
from vc.bus.kafka.reader import KafkaReader
from vc.clock import Clock
from vc.messages.record import Message, TopicPartition
from vc.messages.topics import Topic

_log = logging.getLogger("pyroclast.bus")


class KafkaBus:
    """The bus on Kafka. `vc.bus.interface.Bus` has the contract of each method."""

    def __init__(self, config: KafkaConfig, *, clock: Clock) -> None:
        """Does not connect yet; must be called inside the running loop."""
        self._config = config
        self._clock = clock
        self._broker = Broker(config, clock=clock)
        self._publisher = KafkaPublisher(config, broker=self._broker, clock=clock)
        self._clients: set[KafkaReader | KafkaMember] = set()
        self._closed = False
        self._forbidden: dict[str, str] = {}
        """Last denial by the set of topics that were written together;
        bounded by the kinds of publishes in our code.
        """

    @classmethod
    async def connect(cls, config: KafkaConfig, *, clock: Clock) -> Self:
        """A bus that connects on demand."""
        return cls(config, clock=clock)

    @property
    def in_flight(self) -> InFlight:
        """The measure of back-pressure."""
        return self._publisher.in_flight

    async def ensure_topics(self, topics: Iterable[Topic]) -> list[str]:
        self._check_open()
        with naming_user(self._config.sasl_username):
            return await self._broker.ensure_topics(list(topics))

    async def missing_topics(self, topics: Iterable[Topic]) -> list[str]:
        self._check_open()
        wanted = [topic.name for topic in topics]
        with naming_user(self._config.sasl_username):
            found = await self._broker.partitions_now(wanted)
        return [name for name in wanted if name not in found]

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        self._check_open()
        topics = ", ".join(sorted({message.topic for message in messages}))
        try:
            with naming_user(self._config.sasl_username):
                offsets = await self._publisher.publish(messages)
        except BusForbiddenError as error:
            # A denied publish is retried often; log it once.
            if self._forbidden.get(topics) != str(error):
                _log.error("%s", error)
            self._forbidden[topics] = str(error)
            raise
        self._forbidden.pop(topics, None)
        return offsets

    @property
    def forbidden(self) -> str:
        """The last publish that the brokers' ACLs denied;
        empty after a publish of that kind succeeded.
        """
        return next(iter(self._forbidden.values()), "")

    async def start_offsets(self, topic: str) -> list[int]:
        with naming_user(self._config.sasl_username):
            found = await self._broker.starts(await self._logs_of(topic))
        return [found[at] for at in sorted(found)]

    async def end_offsets(self, topic: str) -> list[int]:
        with naming_user(self._config.sasl_username):
            found = await self._broker.ends(await self._logs_of(topic))
        return [found[at] for at in sorted(found)]

    async def _logs_of(self, *topics: str) -> list[TopicPartition]:
        self._check_open()
        with naming_user(self._config.sasl_username):
            partitions = await self._broker.check_there(topics)
        return [
            TopicPartition(topic, number) for topic in topics for number in range(partitions[topic])
        ]

    async def reader(self, positions: Mapping[TopicPartition, int]) -> KafkaReader:
        there = set(await self._logs_of(*sorted({at.topic for at in positions})))
        strange = sorted(set(positions) - there)
        if strange:
            raise BusError(f"there is no partition {strange[0].partition} of {strange[0].topic}")
        reader = KafkaReader(
            self._config,
            broker=self._broker,
            clock=self._clock,
            positions=positions,
            closed=self._clients.discard,
        )
        await self._connect(reader)
        return reader

    async def member(
        self,
        group: str,
        topics: Sequence[str],
        *,
        from_start: Iterable[str] = (),
        from_end: Iterable[str] = (),
    ) -> KafkaMember:
        await self._logs_of(*topics)
        if self._config.sasl_username:  # joining a forbidden group would never return
            with naming_user(self._config.sasl_username):
                await self._broker.committed(group)
        member = KafkaMember(
            self._config,
            broker=self._broker,
            clock=self._clock,
            group=group,
            topics=topics,
            from_start=from_start,
            from_end=from_end,
            closed=self._clients.discard,
        )
        await self._connect(member)
        return member

    async def _connect(self, client: KafkaReader | KafkaMember) -> None:
        """Connect a client; it is closed with the bus, or at once if connecting fails."""
        # Before it connects, so that a bus that is closed meanwhile closes this client too.
        self._clients.add(client)
        try:
            with naming_user(self._config.sasl_username):
                await client.connect()
        except BaseException:
            await client.close()
            raise

    async def lag(self, group: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
        logs = await self._logs_of(*topics)
        starts, ends, committed = await asyncio.gather(
            self._broker.starts(logs), self._broker.ends(logs), self._broker.committed(group)
        )
        # Records between a commit and a later start of the log are deleted, so they are no lag.
        return {at: ends[at] - max(starts[at], committed.get(at, 0)) for at in logs}

    def _check_open(self) -> None:
        if self._closed:
            raise BusClosedError("this bus was closed")

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        # Readers and members first: they still use the broker's query clients.
        for client in list(self._clients):
            await client.close()
        await self._publisher.close()
        await self._broker.close()
