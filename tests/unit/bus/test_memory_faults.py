"""Injected faults from a seed: late, duplicated, unacknowledged; and a run repeats exactly."""

import asyncio

import pytest

from tests.contracts.bus.steps import at_start, message, new_topic, numbered, topic
from vc.bus import BusClosedError, BusUnavailableError
from vc.bus.memory import Faults, MemoryBus
from vc.bus.memory.bus import UNAVAILABLE_AFTER_SECONDS
from vc.bus.memory.clients import MemoryMember, MemoryReader
from vc.clock import LoopClock, run_virtual
from vc.messages.record import Record

EVERYTHING = Faults(
    delay_rate=0.5,
    delay_seconds_max=3.0,
    duplicate_rate=0.3,
    acknowledge_seconds_max=0.5,
    lost_acknowledgement_rate=0.2,
)


async def history(seed: int) -> list[tuple[float, int, bytes | None]]:
    """When which record came, under all faults at once."""
    clock = LoopClock()
    bus = MemoryBus(clock, seed=seed, faults=EVERYTHING)
    made = topic(single=True)
    await bus.ensure_topics([made])
    reader = await bus.reader(at_start(made.name))

    async def writer() -> None:
        for sent in numbered(made.name, 40):
            while True:
                try:
                    await bus.publish([sent])
                    break
                except BusUnavailableError:
                    continue

    writing = asyncio.ensure_future(writer())
    seen: list[tuple[float, int, bytes | None]] = []
    while not writing.done() or reader.positions() != {
        at: (await bus.end_offsets(made.name))[0] for at in at_start(made.name)
    }:
        records = await reader.poll(max_records=5, wait_seconds=0.5)
        seen += [(clock.monotonic(), record.offset, record.value) for record in records]
    return seen


def test_a_seed_repeats_its_history_and_nothing_is_lost() -> None:
    copies = 0
    for seed in range(20):
        first, second = run_virtual(history(seed)), run_virtual(history(seed))
        assert first == second, f"seed {seed}"
        firsts = list(dict.fromkeys(value for _, _, value in first))
        assert firsts == [str(n).encode() for n in range(40)], f"seed {seed}"
        assert [offset for _, offset, _ in first] == list(range(len(first))), f"seed {seed}"
        copies += len(first) - 40
    assert copies > 100, "duplicates were drawn"
    assert run_virtual(history(1)) != run_virtual(history(2))


def test_a_late_record_wakes_its_reader_when_it_is_due() -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = MemoryBus(clock, seed=3, faults=Faults(delay_rate=1.0, delay_seconds_max=10.0))
        name = await new_topic(bus)
        reader = await bus.reader(at_start(name))
        await bus.publish([message(name)])
        assert (await bus.end_offsets(name))[0] == 1, "acknowledged, but not handed out yet"
        records = await reader.poll(max_records=1, wait_seconds=60)
        assert len(records) == 1
        assert 0 < clock.monotonic() <= 10

    run_virtual(main())


def test_a_doubled_publish_repeats_the_whole_batch() -> None:
    async def main() -> list[Record]:
        bus = MemoryBus(LoopClock(), faults=Faults(duplicate_rate=1.0))
        name = await new_topic(bus)
        assert await bus.publish(numbered(name, 2)) == [2, 3]
        reader = await bus.reader(at_start(name))
        return await reader.poll(max_records=9, wait_seconds=0)

    assert [record.value for record in run_virtual(main())] == [b"0", b"1", b"0", b"1"]


def test_a_lost_acknowledgement_leaves_the_message_there() -> None:
    async def main() -> None:
        bus = MemoryBus(LoopClock(), faults=Faults(lost_acknowledgement_rate=1.0))
        name = await new_topic(bus)
        with pytest.raises(BusUnavailableError, match="may be there"):
            await bus.publish([message(name)])
        assert (await bus.end_offsets(name))[0] == 1

    run_virtual(main())


def test_an_outage_is_waited_for_and_then_named() -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = MemoryBus(clock)
        name = await new_topic(bus)
        bus.stop()
        publishing = asyncio.ensure_future(bus.publish([message(name)]))
        await clock.sleep(UNAVAILABLE_AFTER_SECONDS / 2)
        bus.start()
        assert await publishing == [0]
        bus.stop()
        with pytest.raises(BusUnavailableError, match="10 s"):
            await bus.publish([message(name)])
        assert clock.monotonic() == pytest.approx(UNAVAILABLE_AFTER_SECONDS * 1.5)

    run_virtual(main())


def test_a_reader_reads_nothing_in_an_outage_and_wakes_at_its_end() -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = MemoryBus(clock)
        name = await new_topic(bus)
        await bus.publish(numbered(name, 1))
        reader = await bus.reader(at_start(name))
        bus.stop()
        waiting = asyncio.ensure_future(reader.poll(max_records=9, wait_seconds=60))
        await clock.sleep(5)
        bus.start()
        assert len(await waiting) == 1
        assert clock.monotonic() == pytest.approx(5)

    run_virtual(main())


async def _records(reader: MemoryReader | MemoryMember, *, wait_seconds: float) -> list[Record]:
    polled = await reader.poll(max_records=9, wait_seconds=wait_seconds)
    return polled if isinstance(polled, list) else polled.records


@pytest.mark.parametrize("grouped", [False, True], ids=["reader", "member"])
def test_a_late_record_is_waited_for_in_an_outage_without_polling_again(grouped: bool) -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = MemoryBus(clock, faults=Faults(delay_rate=1.0, delay_seconds_max=3.0))
        name = await new_topic(bus)
        await bus.publish(numbered(name, 1))
        reader: MemoryReader | MemoryMember
        reader = await (bus.member("group", [name]) if grouped else bus.reader(at_start(name)))
        await reader.poll(max_records=9, wait_seconds=0)
        bus.stop()
        waiting = asyncio.create_task(_records(reader, wait_seconds=60))
        await clock.sleep(20)
        bus.start()
        assert len(await waiting) == 1
        assert clock.monotonic() == pytest.approx(20)

    run_virtual(asyncio.wait_for(main(), 100))


def test_closing_frees_those_who_wait_for_the_broker() -> None:
    async def main() -> None:
        bus = MemoryBus(LoopClock())
        name = await new_topic(bus)
        bus.stop()
        publishing = asyncio.ensure_future(bus.publish([message(name)]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await bus.close()
        with pytest.raises(BusClosedError):
            await publishing

    run_virtual(main())
