"""An outage: nothing acknowledged is lost, waiting is bounded, and all go on by themselves."""

import asyncio

import pytest

from tests.contracts.bus.backends import Backend
from tests.contracts.bus.steps import (
    Participant,
    at_start,
    group,
    message,
    new_topic,
    numbered,
    poll_until,
    read,
    values,
)
from vc.bus import BusUnavailableError

pytestmark = pytest.mark.slow

OUTAGES = 3


async def test_readers_and_members_outlast_an_outage(backend: Backend) -> None:
    bus = backend.bus
    name, name_of_group = await new_topic(bus), group()
    await bus.publish(numbered(name, 3))
    reader = await bus.reader(at_start(name))
    member = Participant(await bus.member(name_of_group, [name]))
    assert len(await read(reader, 3)) == 3
    await poll_until([member], lambda: len(member.records) == 3, why="not read")
    await backend.stop_broker()
    assert await reader.poll(max_records=10, wait_seconds=0.3) == []
    await backend.start_broker()
    await publish_patiently(backend, name, b"after")
    assert values(await read(reader, 1)) == [b"after"]
    await poll_until(
        [member], lambda: b"after" in values(member.records), why="the member did not come back"
    )
    await member.member.close()
    await reader.close()


async def test_publishing_without_a_broker_is_unavailable_within_a_bound(backend: Backend) -> None:
    name = await new_topic(backend.bus)
    await backend.stop_broker()
    began = asyncio.get_running_loop().time()
    with pytest.raises(BusUnavailableError):
        await backend.bus.publish([message(name)])
    assert asyncio.get_running_loop().time() - began < 30
    with pytest.raises(BusUnavailableError):
        await backend.bus.end_offsets(name)
    await backend.start_broker()
    await publish_patiently(backend, name, b"after")


async def test_a_short_outage_is_only_a_wait(backend: Backend) -> None:
    name = await new_topic(backend.bus)
    await backend.bus.publish([message(name)])
    await backend.stop_broker()
    publishing = asyncio.ensure_future(backend.bus.publish([message(name)]))
    await asyncio.sleep(0.2)
    await backend.start_broker()
    await asyncio.wait([publishing], timeout=30)
    if publishing.exception() is not None:  # a broker may take longer to come back than the bound
        assert isinstance(publishing.exception(), BusUnavailableError)
    await publish_patiently(backend, name, b"after")


async def test_nothing_acknowledged_is_lost_over_several_outages(backend: Backend) -> None:
    bus = backend.bus
    name, name_of_group = await new_topic(bus), group()
    reader = await bus.reader(at_start(name))
    member = Participant(await bus.member(name_of_group, [name]))
    acknowledged: list[bytes] = []
    seen: list[bytes | None] = []
    ending = asyncio.Event()

    async def write() -> None:
        number = 0
        while not ending.is_set():
            value = str(number).encode()
            try:
                await bus.publish([message(name, f"k{number}", value)])
            except BusUnavailableError:
                continue  # the same again: it may be there twice, but never not at all
            acknowledged.append(value)
            number += 1
            await asyncio.sleep(0.01)

    async def follow() -> None:
        # The writer may still have a publish under way when it is told to end.
        while not writing.done() or seen[-1] != acknowledged[-1]:
            seen.extend(values(await reader.poll(max_records=100, wait_seconds=0.2)))

    writing = asyncio.ensure_future(write())
    following = asyncio.ensure_future(follow())
    for _ in range(OUTAGES):
        await asyncio.sleep(0.5)
        await backend.stop_broker()
        await asyncio.sleep(0.2)
        await backend.start_broker()
    await asyncio.sleep(0.5)
    ending.set()
    await asyncio.wait_for(writing, 60)
    await asyncio.wait_for(following, 60)
    assert list(dict.fromkeys(seen)) == acknowledged
    await poll_until(
        [member],
        lambda: {*acknowledged} <= {*values(member.records)},
        why="the member missed something",
    )
    print(f"outages={OUTAGES} acknowledged={len(acknowledged)} seen={len(seen)} lost=0")
    await member.member.close()
    await reader.close()


async def publish_patiently(backend: Backend, name: str, value: bytes) -> None:
    """Again until it is acknowledged, as every shell does."""
    for _ in range(10):
        try:
            await backend.bus.publish([message(name, value=value)])
        except BusUnavailableError:
            continue
        return
    raise AssertionError("the bus did not come back")
