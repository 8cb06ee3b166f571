"""The in-memory group on virtual time: the range rule, sessions, and moving ownership."""

import asyncio

import msgspec
import pytest

from tests.contracts.bus.steps import message, new_topic, numbered
from vc.bus import GroupMember
from vc.bus.memory import MemoryBus
from vc.bus.memory.group import SESSION_SECONDS
from vc.clock import LoopClock, run_virtual
from vc.messages.record import TopicPartition


async def numbers(member: GroupMember, *, wait_seconds: float = 0.0) -> list[int]:
    polled = await member.poll(max_records=100, wait_seconds=wait_seconds)
    return sorted(at.partition for at in polled.assigned)


class Case(msgspec.Struct, frozen=True):
    """How 12 partitions fall on some members."""

    id: str
    members: int
    shares: list[int]


CASES = [
    Case("one member gets all", 1, [12]),
    Case("two get halves", 2, [6, 6]),
    Case("the first get one more", 5, [3, 3, 2, 2, 2]),
    Case("who comes after the twelfth gets none", 14, [1] * 12 + [0, 0]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_range_rule(case: Case) -> None:
    async def main() -> list[int]:
        bus = MemoryBus(LoopClock())
        name = await new_topic(bus)
        members = [await bus.member("g", [name]) for _ in range(case.members)]
        owned = [await numbers(member) for member in members]
        assert [number for part in owned for number in part] == list(range(12)), (
            "runs, in the order of joining"
        )
        return [len(numbers_of_one) for numbers_of_one in owned]

    assert run_virtual(main()) == case.shares


def test_a_member_that_stops_polling_loses_its_partitions_after_its_session() -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = MemoryBus(clock)
        name = await new_topic(bus)
        silent, busy = await bus.member("g", [name]), await bus.member("g", [name])
        assert len(await numbers(silent)) == 6
        assert len(await numbers(busy)) == 6
        before = clock.monotonic()
        while len(await numbers(busy, wait_seconds=60)) < 12:
            pass
        assert clock.monotonic() - before == pytest.approx(SESSION_SECONDS), "woken at the expiry"

    run_virtual(main())


def test_an_expelled_member_joins_again_when_it_polls_again() -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = MemoryBus(clock)
        name = await new_topic(bus)
        silent, busy = await bus.member("g", [name]), await bus.member("g", [name])
        first = await silent.poll(max_records=1, wait_seconds=0)
        for _ in range(3):
            await busy.poll(max_records=1, wait_seconds=SESSION_SECONDS / 2)
        await silent.commit({TopicPartition(name, 0): 1})
        assert (await bus.lag("g", [name]))[TopicPartition(name, 0)] == 0
        await bus.publish(numbered(name, 2))
        assert (await bus.lag("g", [name]))[TopicPartition(name, 0)] == 2, "not its to commit"
        again = await silent.poll(max_records=1, wait_seconds=0)
        assert again.generation > first.generation
        assert len(await numbers(busy)) + len(again.assigned) == 12

    run_virtual(main())


def test_a_member_in_a_long_poll_is_alive() -> None:
    async def main() -> None:
        bus = MemoryBus(LoopClock())
        name = await new_topic(bus)
        one, other = await bus.member("g", [name]), await bus.member("g", [name])
        await one.poll(max_records=1, wait_seconds=0)
        await other.poll(max_records=1, wait_seconds=0)
        polled = await asyncio.gather(
            one.poll(max_records=1, wait_seconds=SESSION_SECONDS * 5),
            other.poll(max_records=1, wait_seconds=SESSION_SECONDS * 5),
        )
        assert [len(got.assigned) for got in polled] == [6, 6]

    run_virtual(main())


def test_an_owner_that_was_replaced_cannot_commit_before_it_knows() -> None:
    async def main() -> None:
        bus = MemoryBus(LoopClock())
        name = await new_topic(bus)
        await bus.publish([message(name, partition=11)])
        old = await bus.member("g", [name])
        assert len((await old.poll(max_records=9, wait_seconds=0)).records) == 1
        new = await bus.member("g", [name])
        await old.commit({TopicPartition(name, 11): 1})
        polled = await new.poll(max_records=9, wait_seconds=0)
        assert [record.partition for record in polled.records] == [11], "the new owner sees it"

    run_virtual(main())


def test_a_rebalance_wakes_a_waiting_poll() -> None:
    async def main() -> None:
        clock = LoopClock()
        bus = MemoryBus(clock)
        name = await new_topic(bus)
        one = await bus.member("g", [name])
        first = await one.poll(max_records=1, wait_seconds=0)
        waiting = asyncio.ensure_future(one.poll(max_records=1, wait_seconds=9))
        await clock.sleep(1)
        await bus.member("g", [name])
        polled = await waiting
        assert clock.monotonic() == pytest.approx(1)
        assert (polled.generation, len(polled.assigned)) == (first.generation + 1, 6)

    run_virtual(main())


def test_topics_of_different_sizes_and_subscriptions() -> None:
    async def main() -> None:
        bus = MemoryBus(LoopClock())
        wide, narrow = await new_topic(bus), await new_topic(bus, single=True)
        both = await bus.member("g", [wide, narrow])
        one = await bus.member("g", [wide])
        polled_both = await both.poll(max_records=1, wait_seconds=0)
        polled_one = await one.poll(max_records=1, wait_seconds=0)
        assert TopicPartition(narrow, 0) in polled_both.assigned
        assert len(polled_both.assigned) == 7
        assert len(polled_one.assigned) == 6

    run_virtual(main())
