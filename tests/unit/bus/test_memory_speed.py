"""The in-memory twin is fast enough for a whole stack in one process; bounds are a tenth of the measured rates."""

import time

from tests.contracts.bus.steps import at_start, message, new_topic
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock, run_virtual

PUBLISH_PER_SECOND_MIN = 20_000
IDLE_POLLS_PER_SECOND_MIN = 2_000


def rate(count: int, began: float) -> float:
    return count / (time.perf_counter() - began)


def test_publishing_and_idle_polls_are_cheap() -> None:
    async def main() -> tuple[float, float]:
        bus = MemoryBus(LoopClock())
        name = await new_topic(bus)
        batch = [message(name, f"k{n}", b"x" * 300, partition=n % 12) for n in range(100)]
        began = time.perf_counter()
        for _ in range(200):
            await bus.publish(batch)
        published = rate(20_000, began)
        readers = [await bus.reader(at_start(name, partitions=12)) for _ in range(20)]
        for reader in readers:
            while await reader.poll(max_records=5_000, wait_seconds=0):
                pass
        began = time.perf_counter()
        for number in range(2_000):
            await readers[number % 20].poll(max_records=100, wait_seconds=0.25)
        return published, rate(2_000, began)

    published, polls = run_virtual(main())
    assert published >= PUBLISH_PER_SECOND_MIN
    assert polls >= IDLE_POLLS_PER_SECOND_MIN
