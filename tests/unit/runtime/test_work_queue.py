"""The de-duplicating work queue with backoff per key."""

from collections.abc import Callable, Coroutine
from typing import Any

from tests.builders.contexts import memory_context
from vc.clock import LoopClock, run_virtual
from vc.model.values.backoff import LONGEST_SECONDS
from vc.runtime.applying.workqueue import WorkQueue


def run(test: Callable[[WorkQueue, LoopClock], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        clock = LoopClock(wall_at_zero=1.8e9)
        context = memory_context(clock=clock)
        await test(WorkQueue(context), clock)

    run_virtual(main())


def test_a_key_added_twice_is_taken_once_in_the_order_of_coming() -> None:
    async def test(queue: WorkQueue, _: LoopClock) -> None:
        for key in ("b", "a", "b"):
            queue.add(key)
        assert queue.take_due(limit=10) == ["b", "a"]
        assert queue.take_due(limit=10) == []

    run(test)


def test_a_delayed_key_comes_when_it_is_due_and_an_earlier_wish_wins() -> None:
    async def test(queue: WorkQueue, clock: LoopClock) -> None:
        queue.add("late", delay=10)
        queue.add("soon", delay=10)
        queue.add("soon", delay=1)
        queue.add("soon", delay=5)
        assert queue.seconds_until_due(at_most=60) == 1
        await clock.sleep(1)
        assert queue.take_due(limit=10) == ["soon"]
        await clock.sleep(9)
        assert queue.take_due(limit=10) == ["late"]
        assert queue.seconds_until_due(at_most=60) == 60

    run(test)


def test_a_failing_key_waits_longer_and_longer_up_to_a_bound() -> None:
    async def test(queue: WorkQueue, clock: LoopClock) -> None:
        delays = []
        for _ in range(20):
            delays.append(queue.retry("a"))
            await clock.sleep(LONGEST_SECONDS)
            assert queue.take_due(limit=1) == ["a"]
        assert delays[0] < 0.1
        assert max(delays) <= LONGEST_SECONDS
        queue.succeeded("a")
        assert queue.retry("a") < 0.1

    run(test)


def test_a_forgotten_key_does_not_come_back() -> None:
    async def test(queue: WorkQueue, clock: LoopClock) -> None:
        queue.add("a", delay=1)
        queue.forget("a")
        await clock.sleep(2)
        assert queue.take_due(limit=10) == []
        assert len(queue) == 0

    run(test)
