"""A real broker: messages go through, also after a crash, and not while it hangs."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.integration.parts.require import require
from vc.parts import KafkaServer, kafka_address

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

MESSAGE_BYTES = 4 * 1024 * 1024
REQUEST_BYTES_MAX = MESSAGE_BYTES + 65_536
CONSUME_SECONDS_MAX = 30.0


@pytest_asyncio.fixture
async def kafka() -> AsyncIterator[KafkaServer]:
    require("kafka", own=True)
    async with KafkaServer() as server:
        yield server


async def create_topic(bootstrap_servers: str, name: str) -> None:
    """One partition, one replica."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 1, 1)])
    finally:
        await admin.close()


async def produce(bootstrap_servers: str, topic: str, value: bytes) -> None:
    """Returns when the broker has it."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap_servers, max_request_size=REQUEST_BYTES_MAX
    )
    await producer.start()
    try:
        await producer.send_and_wait(topic, value)
    finally:
        await producer.stop()


async def consume(bootstrap_servers: str, topic: str, *, count: int = 1) -> list[bytes]:
    """The first messages of the topic."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap_servers,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=REQUEST_BYTES_MAX,
    )
    await consumer.start()
    try:
        async with asyncio.timeout(CONSUME_SECONDS_MAX):
            messages = [await consumer.getone() for _ in range(count)]
    finally:
        await consumer.stop()
    return [bytes(message.value) for message in messages]


async def test_four_megabytes_survive_a_crash_of_the_broker(kafka: KafkaServer) -> None:
    value = b"x" * MESSAGE_BYTES
    await create_topic(kafka.bootstrap_servers, "jobs")
    await produce(kafka.bootstrap_servers, "jobs", value)
    before = kafka.process.pid
    await kafka.process.kill()
    await kafka.process.restart()
    assert kafka.process.pid != before
    assert await consume(kafka.bootstrap_servers, "jobs") == [value]


async def test_a_paused_broker_holds_messages_until_it_is_resumed(kafka: KafkaServer) -> None:
    await create_topic(kafka.bootstrap_servers, "jobs")
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    await producer.start()
    try:
        await producer.send_and_wait("jobs", b"first")  # so that it knows the topic
        kafka.process.pause()
        sent = await producer.send("jobs", b"late")
        done, _ = await asyncio.wait([sent], timeout=1.0)
        assert not done
        kafka.process.resume()
        await asyncio.wait_for(sent, CONSUME_SECONDS_MAX)
    finally:
        kafka.process.resume()
        await producer.stop()
    assert await consume(kafka.bootstrap_servers, "jobs", count=2) == [b"first", b"late"]


async def test_the_address_is_one_that_clients_can_use() -> None:
    require("kafka")
    async with kafka_address() as bootstrap_servers:
        await create_topic(bootstrap_servers, "parts-address")
        await produce(bootstrap_servers, "parts-address", b"hello")
        assert await consume(bootstrap_servers, "parts-address") == [b"hello"]
