"""Publishing: order, offsets, sizes, headers, and what is refused."""

import asyncio

import msgspec
import pytest

from tests.contracts.bus.steps import at_start, message, new_topic, numbered, read, values
from vc.bus import Bus, BusError, OversizeError, TopicMissingError
from vc.bus.limits import ENVELOPE_BYTES_MAX
from vc.messages.record import Message, TopicPartition
from vc.messages.topics import MESSAGE_BYTES_MAX

CROWD = 25


async def test_offsets_count_up_within_each_partition(bus: Bus) -> None:
    name = await new_topic(bus)
    batch = [message(name, partition=p) for p in (0, 1, 0, 0, 1)]
    assert await bus.publish(batch) == [0, 0, 1, 2, 1]
    assert await bus.publish([message(name, partition=1)]) == [2]
    assert (await bus.end_offsets(name))[:3] == [3, 3, 0]
    assert (await bus.start_offsets(name))[:3] == [0, 0, 0]


async def test_publishing_nothing_is_allowed(bus: Bus) -> None:
    assert await bus.publish([]) == []


async def test_order_within_a_log_is_the_order_of_publishing(bus: Bus) -> None:
    name = await new_topic(bus)
    for begin in range(0, 300, 50):
        await bus.publish(numbered(name, 300)[begin : begin + 50])
    reader = await bus.reader(at_start(name))
    assert values(await read(reader, 300)) == values_of(numbered(name, 300))
    await reader.close()


async def test_each_of_many_publishers_keeps_its_own_order(bus: Bus) -> None:
    name = await new_topic(bus)

    async def publisher(who: int) -> None:
        for number in range(20):
            await bus.publish([message(name, f"{who}", str(number).encode())])

    await asyncio.gather(*(publisher(who) for who in range(CROWD)))
    reader = await bus.reader(at_start(name))
    records = await read(reader, 20 * CROWD)
    for who in range(CROWD):
        own = [record.value for record in records if record.key == f"{who}"]
        assert own == [str(number).encode() for number in range(20)]
    await reader.close()


async def test_a_record_is_the_message_and_its_place(bus: Bus) -> None:
    name = await new_topic(bus)
    sent = Message(
        topic=name,
        partition=3,
        key="ns/näme",
        value=bytes(range(256)),
        headers={"uid": "u-1", "traceparent": "00-ab-cd-01", "grüße": "äöü", "empty": ""},
    )
    await bus.publish([message(name, partition=3), sent])
    reader = await bus.reader({TopicPartition(name, 3): 1})
    (record,) = await read(reader, 1)
    assert (record.topic, record.partition, record.offset) == (name, 3, 1)
    assert (record.key, record.value, record.headers) == (sent.key, sent.value, sent.headers)
    await reader.close()


async def test_an_empty_value_is_no_tombstone_and_a_tombstone_keeps_its_headers(bus: Bus) -> None:
    name = await new_topic(bus, compacted=True)
    await bus.publish([message(name, "a", b""), message(name, "b", None)])
    reader = await bus.reader(at_start(name))
    empty, tombstone = await read(reader, 2)
    assert (empty.value, empty.headers) == (b"", {"uid": "a"})
    assert (tombstone.value, tombstone.headers) == (None, {"uid": "b"})
    await reader.close()


async def test_nothing_is_handed_over_by_reference(bus: Bus) -> None:
    name = await new_topic(bus)
    sent = message(name)
    await bus.publish([sent])
    sent.headers["uid"] = "changed after publishing"
    one, other = await bus.reader(at_start(name)), await bus.reader(at_start(name))
    (first,) = await read(one, 1)
    first.headers["uid"] = "changed by a reader"
    (second,) = await read(other, 1)
    assert second.headers == {"uid": "k"}
    await one.close()
    await other.close()


async def test_a_value_of_4_mb_arrives_whole(bus: Bus) -> None:
    name = await new_topic(bus)
    large = message(name, "large", b"x" * MESSAGE_BYTES_MAX)
    assert await bus.publish([large]) == [0]
    reader = await bus.reader(at_start(name))
    (record,) = await read(reader, 1)
    assert record.value == large.value
    await reader.close()


async def test_several_large_messages_go_through_one_publish(bus: Bus) -> None:
    name = await new_topic(bus)
    large = [message(name, f"{n}", bytes([n]) * MESSAGE_BYTES_MAX) for n in range(10)]
    assert await bus.publish(large) == list(range(10))


async def test_a_larger_value_is_refused_with_its_size_and_nothing_is_published(bus: Bus) -> None:
    name = await new_topic(bus)
    batch = [message(name), message(name, "huge", b"x" * (MESSAGE_BYTES_MAX + 1))]
    with pytest.raises(OversizeError, match=rf"'huge'.*{MESSAGE_BYTES_MAX + 1} bytes.*at the most"):
        await bus.publish(batch)
    assert (await bus.end_offsets(name))[0] == 0


async def test_headers_beyond_the_bound_are_refused(bus: Bus) -> None:
    name = await new_topic(bus)
    heavy = msgspec.structs.replace(message(name), headers={"h": "x" * ENVELOPE_BYTES_MAX})
    with pytest.raises(OversizeError, match="key and headers"):
        await bus.publish([heavy])


async def test_publishing_to_a_topic_that_is_not_there_names_it(bus: Bus) -> None:
    with pytest.raises(TopicMissingError, match=r"contract\.nowhere"):
        await bus.publish([message("contract.nowhere")])


async def test_a_partition_that_is_not_there_is_an_error(bus: Bus) -> None:
    name = await new_topic(bus, single=True)
    with pytest.raises(BusError, match=name):
        await bus.publish([message(name, partition=7)])


def values_of(messages: list[Message]) -> list[bytes | None]:
    return [sent.value for sent in messages]
