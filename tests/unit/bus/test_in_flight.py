"""Back-pressure of publishing: bounded in bytes and time, fair, and every reservation is released."""

import asyncio
import random

import pytest

from tests.contracts.bus.steps import message, new_topic
from vc.bus import BusUnavailableError
from vc.bus.in_flight import InFlight
from vc.bus.memory import Faults, MemoryBus
from vc.clock import LoopClock, run_virtual


def test_who_does_not_fit_waits_for_room_in_order() -> None:
    async def main() -> list[int]:
        clock = LoopClock()
        in_flight = InFlight(clock, bytes_max=10)
        order: list[int] = []

        async def publisher(who: int, size: int) -> None:
            async with in_flight.reserve(size, wait_seconds=100):
                order.append(who)
                assert in_flight.bytes <= 10
                await clock.sleep(1)

        await asyncio.gather(publisher(0, 6), publisher(1, 6), publisher(2, 1), publisher(3, 50))
        assert (in_flight.bytes, in_flight.publishers_waiting) == (0, 0)
        return order

    assert run_virtual(main()) == [0, 1, 2, 3], "a small one does not overtake"


def test_waiting_for_room_is_bounded() -> None:
    async def main() -> None:
        clock = LoopClock()
        in_flight = InFlight(clock, bytes_max=10)
        async with in_flight.reserve(10, wait_seconds=1):
            with pytest.raises(BusUnavailableError, match="no free in-flight bytes for 3 s"):
                async with in_flight.reserve(1, wait_seconds=3):
                    raise AssertionError("there was no room")
            assert in_flight.publishers_waiting == 0
        assert in_flight.bytes == 0

    run_virtual(main())


@pytest.mark.parametrize("seed", range(20))
def test_cancelled_publishers_leave_no_bytes_behind(seed: int) -> None:
    async def main() -> None:
        dice = random.Random(seed)
        clock = LoopClock()
        in_flight = InFlight(clock, bytes_max=10)

        async def publisher() -> None:
            async with in_flight.reserve(dice.randint(1, 12), wait_seconds=dice.uniform(0, 4)):
                assert in_flight.bytes <= 10
                await clock.sleep(dice.uniform(0, 1))

        tasks = [asyncio.ensure_future(publisher()) for _ in range(60)]
        for task in tasks:
            await clock.sleep(dice.uniform(0, 0.2))
            if dice.random() < 0.3:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (in_flight.bytes, in_flight.publishers_waiting) == (0, 0)

    run_virtual(main())


def test_a_slow_broker_holds_publishers_back() -> None:
    async def main() -> None:
        clock = LoopClock()
        faults = Faults(acknowledge_seconds_max=1.0)
        bus = MemoryBus(clock, seed=1, faults=faults, in_flight_bytes_max=100)
        name = await new_topic(bus)
        tasks = [
            asyncio.ensure_future(bus.publish([message(name, "k", b"x" * 40)])) for _ in range(20)
        ]
        await clock.sleep(0.01)
        assert bus.in_flight.publishers_waiting >= 16
        await asyncio.gather(*tasks)
        assert (await bus.end_offsets(name))[0] == 20

    run_virtual(main())
