"""When a log counts as stalled, decided by positions and ends alone; time is virtual."""

import asyncio
import math
from collections.abc import Callable, Iterable

import msgspec
import pytest

from vc.bus import BusUnavailableError
from vc.bus.kafka.watchdog import (
    CATCHING_UP_RECORDS,
    COMPARE_SECONDS,
    STALL_SECONDS,
    STALL_SECONDS_MAX,
    Watchdog,
)
from vc.clock import LoopClock, run_virtual
from vc.messages.record import TopicPartition

BUSY, STUCK = TopicPartition("t", 0), TopicPartition("t", 1)
POLL_SECONDS = 0.5
REQUESTED = 100
NOTICED_SECONDS = STALL_SECONDS + 3 * COMPARE_SECONDS


class Logs:
    """The ends of two logs, and where a consumer is in them."""

    def __init__(self) -> None:
        self.ends_now = {BUSY: 0, STUCK: 0}
        self.positions = {BUSY: 0, STUCK: 0}
        self.away = False

    async def ends(self, logs: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        if self.away:
            raise BusUnavailableError("no broker")
        return {at: self.ends_now[at] for at in logs}

    async def check_there(self, _: Iterable[str]) -> dict[str, int]:
        if self.away:
            raise BusUnavailableError("no broker")
        return {"t": 2}


Step = Callable[[Logs, int], int]
"""What happens before a poll of that number; how many records it brought."""


def nothing(_logs: Logs, _number: int) -> int:
    return 0


def steady_news(logs: Logs, _number: int) -> int:
    """The busy log gets a few records, and we read them."""
    logs.ends_now[BUSY] += 3
    logs.positions[BUSY] += 3
    return 3


def full_hands(logs: Logs, _number: int) -> int:
    """As much comes as was asked for."""
    logs.ends_now[BUSY] += REQUESTED
    logs.positions[BUSY] += REQUESTED
    return REQUESTED


def catching_up(logs: Logs, _number: int) -> int:
    """The busy log is far behind, and we read on."""
    logs.ends_now[BUSY] = 1000 * CATCHING_UP_RECORDS
    logs.positions[BUSY] += 10
    return 10


def slowly(logs: Logs, number: int) -> int:
    """The other log moves by one record now and then, and always has more."""
    logs.ends_now[STUCK] = 1000
    logs.positions[STUCK] = int(number * POLL_SECONDS // (STALL_SECONDS - COMPARE_SECONDS))
    return 0


def in_outages(logs: Logs, number: int) -> int:
    """Two seconds of every four."""
    logs.away = number % 8 < 4
    return 0


class Case(msgspec.Struct, frozen=True):
    id: str
    step: Step
    lag: int
    rebuilt: bool


CASES = [
    Case("a log that stands while others move is stuck", steady_news, 1, rebuilt=True),
    Case("a log that stands alone is stuck", nothing, 1, rebuilt=True),
    Case("a log with much to read that stands is stuck", nothing, 10**6, rebuilt=True),
    Case("silence is no stall", nothing, 0, rebuilt=False),
    Case("a log at its end beside a busy one is no stall", steady_news, 0, rebuilt=False),
    Case("a log that waits for us to ask for more is not stuck", full_hands, 1, rebuilt=False),
    Case("a log that waits while others catch up is not stuck", catching_up, 1, rebuilt=False),
    Case("a log that moves slowly is not stuck", slowly, 1, rebuilt=False),
    Case("a log that stands while the broker is away is not stuck", in_outages, 1, rebuilt=False),
]


async def watched(logs: Logs, step: Step, *, seconds: float) -> Watchdog:
    """A consumer polls for so long; a rebuild of it changes nothing."""
    watchdog = Watchdog(LoopClock(), broker=logs, topics=frozenset({"t"}))  # type: ignore[arg-type]
    for number in range(int(seconds / POLL_SECONDS)):
        await watchdog.look()
        if watchdog.due():
            await watchdog.stalled(logs.positions)
        watchdog.took(step(logs, number), requested=REQUESTED)
        await asyncio.sleep(POLL_SECONDS)
    return watchdog


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_which_logs_are_stuck(case: Case) -> None:
    async def main() -> None:
        logs = Logs()
        logs.ends_now[STUCK] = case.lag
        watchdog = await watched(logs, case.step, seconds=NOTICED_SECONDS)
        assert watchdog.rebuilds == int(case.rebuilt)

    run_virtual(main())


def test_a_log_that_no_rebuild_moves_is_rebuilt_ever_more_rarely() -> None:
    async def main() -> None:
        logs = Logs()
        logs.ends_now[STUCK] = 1
        seconds = 4 * 3600.0
        watchdog = await watched(logs, steady_news, seconds=seconds)
        doublings = round(math.log2(STALL_SECONDS_MAX / STALL_SECONDS))
        rarely = seconds / STALL_SECONDS_MAX
        assert doublings < watchdog.rebuilds <= doublings + rarely

    run_virtual(main())


def test_a_log_that_went_on_has_no_record_of_its_past() -> None:
    async def main() -> None:
        logs = Logs()

        def stands_twice(logs: Logs, number: int) -> int:
            logs.ends_now[STUCK] = 2
            logs.positions[STUCK] = int(number * POLL_SECONDS > 2 * NOTICED_SECONDS)
            return 0

        watchdog = await watched(logs, stands_twice, seconds=2 * NOTICED_SECONDS)
        before = watchdog.rebuilds
        assert before >= 1
        logs = Logs()
        watchdog = await watched(logs, stands_twice, seconds=3 * NOTICED_SECONDS + COMPARE_SECONDS)
        assert watchdog.rebuilds > before, "it stood again, at another place"

    run_virtual(main())
