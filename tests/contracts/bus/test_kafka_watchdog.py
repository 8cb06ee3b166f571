"""A consumer that stands still while there is something to read is rebuilt; only real Kafka has those.

aiokafka's own stalls cannot be called up at will, so the consumer is paused behind our back: it
keeps its connections and its heartbeats, has lag, and gets nothing, as in issues 703 and 1037.
"""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as KafkaPartition
from aiokafka.errors import KafkaTimeoutError

from tests.contracts.bus.kafka_backend import Broker, kafka_backend
from tests.contracts.bus.steps import (
    Participant,
    at_start,
    group,
    message,
    new_topic,
    numbered,
    poll_until,
    read,
    topic,
    values,
)
from vc.bus.kafka.member import JOIN_SECONDS_MAX, KafkaMember
from vc.bus.kafka.reader import KafkaReader
from vc.bus.kafka.watchdog import STALL_SECONDS

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


async def test_a_reader_that_stands_still_is_rebuilt_and_loses_nothing(
    kafka_broker: Broker,
) -> None:
    async with kafka_backend(kafka_broker) as backend:
        name = await new_topic(backend.bus)
        await backend.bus.publish(numbered(name, 3))
        reader = await backend.bus.reader(at_start(name))
        assert isinstance(reader, KafkaReader)
        await read(reader, 3)
        assert reader._consumer is not None
        reader._consumer.pause(*reader._consumer.assignment())
        await backend.bus.publish([message(name, value=b"unseen")])
        began = asyncio.get_running_loop().time()
        assert values(await read(reader, 1)) == [b"unseen"]
        assert asyncio.get_running_loop().time() - began < 3 * STALL_SECONDS
        assert reader.watchdog.rebuilds == 1
        await reader.close()


async def test_a_member_that_stands_still_is_rebuilt_and_loses_nothing(
    kafka_broker: Broker,
) -> None:
    async with kafka_backend(kafka_broker) as backend:
        name = await new_topic(backend.bus)
        await backend.bus.publish(numbered(name, 3))
        member = await backend.bus.member(group(), [name])
        assert isinstance(member, KafkaMember)
        participant = Participant(member)
        await poll_until([participant], lambda: len(participant.records) == 3, why="not read")
        assert member._consumer is not None
        member._consumer.pause(*member._consumer.assignment())
        await backend.bus.publish([message(name, value=b"unseen")])
        await poll_until(
            [participant],
            lambda: b"unseen" in values(participant.records),
            why="the member was not rebuilt",
        )
        assert member.watchdog.rebuilds == 1
        await member.close()


async def test_a_reader_that_stands_still_in_one_log_is_rebuilt_while_others_go_on(
    kafka_broker: Broker,
) -> None:
    async with kafka_backend(kafka_broker) as backend:
        name = await new_topic(backend.bus)
        reader = await backend.bus.reader(at_start(name, partitions=2))
        assert isinstance(reader, KafkaReader)
        await backend.bus.publish([message(name), message(name, partition=1)])
        await read(reader, 2)
        assert reader._consumer is not None
        reader._consumer.pause(KafkaPartition(name, 1))
        await backend.bus.publish([message(name, value=b"unseen", partition=1)])
        seen: list[bytes | None] = []
        began = asyncio.get_running_loop().time()
        while b"unseen" not in seen:
            await backend.bus.publish([message(name)])
            seen += values(await reader.poll(max_records=100, wait_seconds=1))
            assert asyncio.get_running_loop().time() - began < 3 * STALL_SECONDS
        assert reader.watchdog.rebuilds == 1
        await reader.close()


async def test_a_member_that_stands_still_in_one_log_is_rebuilt_while_others_go_on(
    kafka_broker: Broker,
) -> None:
    async with kafka_backend(kafka_broker) as backend:
        name = await new_topic(backend.bus)
        member = await backend.bus.member(group(), [name])
        assert isinstance(member, KafkaMember)
        participant = Participant(member)
        await poll_until([participant], lambda: bool(participant.assigned), why="not assigned")
        assert member._consumer is not None
        member._consumer.pause(KafkaPartition(name, 1))
        await backend.bus.publish([message(name, value=b"unseen", partition=1)])
        began = asyncio.get_running_loop().time()
        while b"unseen" not in values(participant.records):
            await backend.bus.publish([message(name)])
            await participant.poll()
            assert asyncio.get_running_loop().time() - began < 3 * STALL_SECONDS
        assert member.watchdog.rebuilds == 1
        await member.close()


async def test_a_member_whose_seeks_fail_joins_again_at_once(
    kafka_broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    seek_to_end = AIOKafkaConsumer.seek_to_end
    failed: list[int] = []

    async def fails_once(consumer: AIOKafkaConsumer, *logs: KafkaPartition) -> object:
        if not failed:
            failed.append(len(logs))
            raise KafkaTimeoutError("no leader")
        return await seek_to_end(consumer, *logs)

    monkeypatch.setattr(AIOKafkaConsumer, "seek_to_end", fails_once)
    async with kafka_backend(kafka_broker) as backend:
        name = await new_topic(backend.bus)
        participant = Participant(await backend.bus.member(group(), [name], from_end=[name]))
        began = asyncio.get_running_loop().time()
        await poll_until([participant], lambda: bool(participant.assigned), why="not assigned")
        assert failed
        assert asyncio.get_running_loop().time() - began < JOIN_SECONDS_MAX / 4
        await backend.bus.publish([message(name, value=b"after")])
        await poll_until(
            [participant], lambda: b"after" in values(participant.records), why="not read"
        )
        await participant.member.close()


async def test_a_consumer_that_ends_in_the_middle_of_a_request_cancels_no_caller(
    kafka_broker: Broker,
) -> None:
    async with kafka_backend(kafka_broker) as backend:
        name = await new_topic(backend.bus)
        member = await backend.bus.member(group(), [name])
        assert isinstance(member, KafkaMember)
        participant = Participant(member)
        await poll_until([participant], lambda: bool(member._assigned), why="nothing assigned")
        assert member._consumer is not None
        request = asyncio.ensure_future(asyncio.sleep(STALL_SECONDS))
        member._consumer._fetcher._pending_tasks.add(request)
        await member._end_consumer()
        assert request.cancelled()
        await backend.bus.publish([message(name, value=b"after")])
        await poll_until(
            [participant], lambda: b"after" in values(participant.records), why="not joined again"
        )
        await member.close()


async def test_a_member_that_joined_while_its_topic_was_away_is_rebuilt(
    kafka_broker: Broker,
) -> None:
    async with kafka_backend(kafka_broker) as backend:
        made = topic()
        name = made.name
        await backend.bus.ensure_topics([made])
        member = await backend.bus.member(group(), [name])
        assert isinstance(member, KafkaMember)
        participant = Participant(member)
        await poll_until([participant], lambda: bool(member._assigned), why="nothing assigned")
        await backend.delete_topics([name])
        while member._assigned:  # no caller polls, so only aiokafka sees that the topic is away
            assert member._consumer is not None
            await member._consumer._client.force_metadata_update()
            await asyncio.sleep(0.1)
        await backend.bus.ensure_topics([made])
        await backend.bus.publish([message(name, value=b"unseen")])
        await poll_until(
            [participant],
            lambda: b"unseen" in values(participant.records),
            why="the member was not rebuilt",
        )
        await member.close()


async def test_silence_is_no_stall(kafka_broker: Broker) -> None:
    async with kafka_backend(kafka_broker) as backend:
        name = await new_topic(backend.bus)
        reader = await backend.bus.reader(at_start(name))
        assert isinstance(reader, KafkaReader)
        assert await reader.poll(max_records=1, wait_seconds=STALL_SECONDS * 1.5) == []
        assert reader.watchdog.rebuilds == 0
        await reader.close()
