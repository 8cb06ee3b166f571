"""Real Kafka under the contract: one broker for the whole run, fresh topics for every test."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import pytest
from aiokafka import TopicPartition as KafkaPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.contracts.bus.backends import TAIL_KEY, Backend
from tests.contracts.bus.steps import POLL_SECONDS, WAIT_SECONDS_MAX, message
from tests.contracts.contained import contained, only_in_container
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.bus.limits import TOPIC_MESSAGE_BYTES_MAX
from vc.clock import LoopClock
from vc.messages.record import TopicPartition
from vc.parts import KafkaServer, require_or_skip_reason
from vc.parts.availability import Way, availability_of, given_address
from vc.parts.containers import kafka_container
from vc.parts.fetch.catalogue import PARTS

QUICK_CLEANER = {"log.cleaner.backoff.ms": "200", "log.initial.task.delay.ms": "500"}
"""A broker of ours cleans at once; one that was given takes its own time."""


class Broker:
    """Where it is, and the process if it is ours to hurt."""

    def __init__(self, address: str, server: KafkaServer | None) -> None:
        self.config = KafkaConfig(bootstrap_servers=address)
        self.server = server


@contextmanager
def running_broker() -> Iterator[Broker]:
    """A broker for many tests, each with a loop of its own."""
    reason = require_or_skip_reason("kafka")
    if reason:
        pytest.skip(reason)
    if availability_of("kafka").way is Way.GIVEN:
        yield Broker(given_address(PARTS["kafka"], os.environ), None)
        return
    if only_in_container("kafka"):
        with contained(kafka_container) as address:
            yield Broker(address, None)
        return
    # Without users and ACLs: the suite is about the adapter, and one client plays every service at once. The stacks of
    # tests/integration and tests/e2e have one user per service (vc.cli.pyroclast.stack.acls).
    server = KafkaServer(settings=QUICK_CLEANER)
    asyncio.run(server.start())
    try:
        yield Broker(server.bootstrap_servers, server)
    finally:
        asyncio.run(server.stop())


class KafkaBackend:
    """A bus on the broker, and an administrator beside it."""

    def __init__(self, broker: Broker, bus: KafkaBus, admin: AIOKafkaAdminClient) -> None:
        self.bus = bus
        self._broker = broker
        self._admin = admin

    async def delete_topics(self, names: Iterable[str]) -> None:
        wanted = set(names)
        if not wanted:
            return
        await self._admin.delete_topics(sorted(wanted))
        while wanted & set(await self._admin.list_topics()):
            continue

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        asked = {KafkaPartition(*at): RecordsToDelete(offset) for at, offset in before.items()}
        await self._admin.delete_records(asked)

    async def compact(self, at: TopicPartition, *, left: int) -> None:
        if await self._policy(at.topic) != "compact":
            return
        await self._clean_eagerly(at.topic)
        deadline = asyncio.get_running_loop().time() + 2 * WAIT_SECONDS_MAX
        while await self._count(at) > left:
            await asyncio.sleep(0.3)
            await self.bus.publish([message(at.topic, TAIL_KEY, b"", partition=at.partition)])
            assert asyncio.get_running_loop().time() < deadline, "the broker did not compact"

    async def _policy(self, topic: str) -> str:
        asked = [ConfigResource(ConfigResourceType.TOPIC, topic)]
        (response,) = await self._admin.describe_configs(asked)
        ((_, _, _, _, entries),) = response.resources
        return str(next(entry[1] for entry in entries if entry[0] == "cleanup.policy"))

    async def _clean_eagerly(self, topic: str) -> None:
        """Tiny segments, and no log is too clean to be cleaned."""
        settings = {
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.001",
            "delete.retention.ms": "86400000",
            "max.message.bytes": str(TOPIC_MESSAGE_BYTES_MAX),
        }
        asked = ConfigResource(ConfigResourceType.TOPIC, topic, configs=settings)
        await self._admin.alter_configs([asked])

    async def _count(self, at: TopicPartition) -> int:
        """Records that are there beside the tail's."""
        end = (await self.bus.end_offsets(at.topic))[at.partition]
        reader = await self.bus.reader({at: 0})
        count = 0
        while reader.positions()[at] < end:
            records = await reader.poll(max_records=500, wait_seconds=POLL_SECONDS)
            count += sum(record.key != TAIL_KEY for record in records)
        await reader.close()
        return count

    async def stop_broker(self) -> None:
        if self._broker.server is None:
            pytest.skip("the broker was given, or is in a container: not ours to stop")
        await self._broker.server.process.stop()

    async def start_broker(self) -> None:
        assert self._broker.server is not None
        await self._broker.server.process.start()


@asynccontextmanager
async def kafka_backend(broker: Broker) -> AsyncIterator[Backend]:
    bus = await KafkaBus.connect(broker.config, clock=LoopClock())
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.config.bootstrap_servers)
    await admin.start()
    yield KafkaBackend(broker, bus, admin)
    await bus.close()
    await admin.close()
    if broker.server is not None:  # a test that failed in an outage leaves none behind
        await broker.server.process.start()
