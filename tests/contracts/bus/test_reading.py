"""Readers: positions, waiting, and logs that are not the ones they were."""

import asyncio

import pytest

from tests.contracts.bus.backends import Backend
from tests.contracts.bus.steps import (
    POLL_SECONDS,
    Participant,
    at_start,
    group,
    message,
    new_topic,
    numbered,
    poll_until,
    read,
    until_error,
    values,
)
from vc.bus import Bus, BusClosedError, OffsetGoneError, TopicMissingError
from vc.messages.record import TopicPartition

POLLS = 50


async def test_a_reader_begins_at_its_positions_and_tells_the_next(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 5) + numbered(name, 3, partition=1))
    positions = {TopicPartition(name, 0): 3, TopicPartition(name, 1): 0}
    reader = await bus.reader(positions)
    assert reader.positions() == positions
    records = await read(reader, 5)
    assert values([r for r in records if r.partition == 0]) == [b"3", b"4"]
    assert values([r for r in records if r.partition == 1]) == [b"0", b"1", b"2"]
    assert reader.positions() == {TopicPartition(name, 0): 5, TopicPartition(name, 1): 3}
    await reader.close()


async def test_positions_move_only_with_what_was_handed_out(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 10))
    reader = await bus.reader(at_start(name))
    got = await read(reader, 1)
    assert reader.positions()[TopicPartition(name, 0)] == len(got)
    await reader.close()


async def test_a_poll_gives_no_more_than_asked_for(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 50) + numbered(name, 50, partition=1))
    reader = await bus.reader(at_start(name, partitions=2))
    seen = 0
    while seen < 100:
        records = await reader.poll(max_records=7, wait_seconds=POLL_SECONDS)
        assert len(records) <= 7
        seen += len(records)
    assert seen == 100
    await reader.close()


async def test_a_poll_without_news_is_empty_after_its_wait(bus: Bus) -> None:
    name = await new_topic(bus)
    reader = await bus.reader(at_start(name))
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await reader.poll(max_records=10, wait_seconds=0.3) == []
    assert 0.25 <= loop.time() - began < 5
    await reader.close()


async def test_a_waiting_poll_wakes_at_once_when_news_come(bus: Bus) -> None:
    name = await new_topic(bus)
    reader = await bus.reader(at_start(name))
    loop = asyncio.get_running_loop()
    waiting = asyncio.ensure_future(reader.poll(max_records=10, wait_seconds=20))
    await asyncio.sleep(0.1)
    began = loop.time()
    await bus.publish([message(name)])
    assert len(await waiting) == 1
    assert loop.time() - began < 5
    await reader.close()


async def test_a_cancelled_poll_loses_nothing(bus: Bus) -> None:
    name = await new_topic(bus)
    reader = await bus.reader(at_start(name))
    waiting = asyncio.ensure_future(reader.poll(max_records=10, wait_seconds=20))
    await asyncio.sleep(0.1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await bus.publish(numbered(name, 3))
    assert values(await read(reader, 3)) == [b"0", b"1", b"2"]
    await reader.close()


async def test_readers_do_not_share(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 3))
    one, other = await bus.reader(at_start(name)), await bus.reader(at_start(name))
    assert values(await read(one, 3)) == values(await read(other, 3))
    await one.close()
    await other.close()


async def test_a_reader_at_the_end_sees_only_what_comes(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 3))
    (end, *_) = await bus.end_offsets(name)
    reader = await bus.reader({TopicPartition(name, 0): end})
    await bus.publish([message(name, value=b"new")])
    assert values(await read(reader, 1)) == [b"new"]
    await reader.close()


async def test_a_closed_reader_answers_no_more(bus: Bus) -> None:
    name = await new_topic(bus)
    reader = await bus.reader(at_start(name))
    await reader.close()
    await reader.close()
    with pytest.raises(BusClosedError):
        await reader.poll(max_records=1, wait_seconds=0)


async def test_closing_ends_a_waiting_poll(bus: Bus) -> None:
    name = await new_topic(bus)
    reader = await bus.reader(at_start(name))
    waiting = asyncio.ensure_future(reader.poll(max_records=10, wait_seconds=20))
    await asyncio.sleep(0.1)
    await reader.close()
    with pytest.raises(BusClosedError):
        await asyncio.wait_for(waiting, 5)


async def test_a_topic_that_is_not_there_cannot_be_read(bus: Bus) -> None:
    with pytest.raises(TopicMissingError, match=r"contract\.nowhere"):
        await bus.reader(at_start("contract.nowhere"))
    with pytest.raises(TopicMissingError, match=r"contract\.nowhere"):
        await bus.end_offsets("contract.nowhere")
    with pytest.raises(TopicMissingError, match=r"contract\.nowhere"):
        await bus.start_offsets("contract.nowhere")


async def test_a_position_beyond_the_end_belongs_to_another_log(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 3))
    reader = await bus.reader({TopicPartition(name, 0): 17})
    assert "17" in str(await until_error(reader, OffsetGoneError))
    await reader.close()


async def test_a_position_below_the_start_is_gone(backend: Backend) -> None:
    bus = backend.bus
    name = await new_topic(bus)
    await bus.publish(numbered(name, 5))
    await backend.delete_records({TopicPartition(name, 0): 3})
    assert (await bus.start_offsets(name))[0] == 3
    reader = await bus.reader(at_start(name))
    await until_error(reader, OffsetGoneError)
    await reader.close()
    resumed = await bus.reader({TopicPartition(name, 0): 3})
    assert values(await read(resumed, 2)) == [b"3", b"4"]
    await resumed.close()


@pytest.mark.parametrize("wait_seconds", [0.0, 0.0004, 0.001])
async def test_polling_in_a_loop_lets_others_run(bus: Bus, wait_seconds: float) -> None:
    name = await new_topic(bus)
    reader, member = await bus.reader(at_start(name)), await bus.member(group(), [name])
    participant = Participant(member)
    await poll_until([participant], lambda: bool(participant.assigned), why="no assignment")
    for each in (reader, member):
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        running = asyncio.create_task(others())
        for _ in range(POLLS):
            await each.poll(max_records=10, wait_seconds=wait_seconds)
        running.cancel()
        assert turns >= POLLS
    await reader.close()
    await member.close()
