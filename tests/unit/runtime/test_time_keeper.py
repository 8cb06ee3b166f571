"""The time keeper: a few requests at the start, few later, and a fallback for servers without dates."""

import asyncio
import logging
import math

import pytest

from vc.clock import LoopClock, ServerClock, run_virtual
from vc.cluster import ForbiddenError, NoDateError, ServerError
from vc.runtime.hosting.time_keeper import (
    DATELESS_MAX,
    PERIOD_SECONDS,
    RETRY_LONGEST_SECONDS,
    TimeKeeper,
)

LOG = logging.getLogger("pyroclast.test")


class Server:
    """Only its clock."""

    def __init__(self, clock: LoopClock, *, ahead: float = 0.0) -> None:
        self.clock = clock
        self.ahead = ahead
        self.asked = 0
        self.error: Exception | None = None

    async def date(self) -> float:
        self.asked += 1
        await self.clock.sleep(0.01)
        if self.error is not None:
            raise self.error
        return float(math.floor(self.clock.now() + self.ahead))


async def keep(server: Server, clock: ServerClock, seconds: float) -> None:
    keeper = TimeKeeper(clock, server, LOG)  # type: ignore[arg-type]  # it asks for the date only
    task = asyncio.create_task(keeper.run())
    await clock.sleep(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_the_time_is_known_at_once_and_exactly_after_seconds() -> None:
    async def main() -> None:
        own = LoopClock(wall_at_zero=1.8e9 + 0.61)
        server, clock = Server(own, ahead=-3600.0), ServerClock(own)
        await keep(server, clock, 0.05)
        assert clock.known
        await keep(server, clock, 10)
        assert 0 <= own.now() - 3600 - clock.now() < 0.15
        assert server.asked <= 10
        server.asked = 0
        await keep(server, clock, 3600)
        assert server.asked <= 2 + 3600 / PERIOD_SECONDS
        assert 0 <= own.now() - 3600 - clock.now() < 0.15

    run_virtual(main())


def test_who_hears_dates_anyway_does_not_ask() -> None:
    async def main() -> None:
        own = LoopClock(wall_at_zero=1.8e9)
        server, clock = Server(own), ServerClock(own)
        task = asyncio.create_task(keep(server, clock, 600))
        for _ in range(590):
            await own.sleep(1.01)
            clock.observe(math.floor(own.now()), sent=own.monotonic(), received=own.monotonic())
        assert server.asked <= 8
        await task

    run_virtual(main())


def test_a_clock_that_was_set_is_found_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        own = LoopClock(wall_at_zero=1.8e9)
        server, clock = Server(own), ServerClock(own)
        task = asyncio.create_task(keep(server, clock, 200))
        await own.sleep(100)
        server.ahead = -3600
        await own.sleep(2 * PERIOD_SECONDS)
        assert clock.now() == pytest.approx(own.now() - 3600, abs=1.0)
        await task

    with caplog.at_level("WARNING"):
        run_virtual(main())
    assert [m.partition(" machine")[0] for m in caplog.messages] == ["API server clock set"]


def test_without_dates_the_machines_clock_has_to_do(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        own = LoopClock(wall_at_zero=1.8e9)
        server, clock = Server(own), ServerClock(own)
        server.error = NoDateError("no date")
        await keep(server, clock, DATELESS_MAX - 1)
        assert clock.width_seconds == math.inf, "unknown"
        await keep(server, clock, DATELESS_MAX + 2)
        assert clock.known
        assert clock.now() == pytest.approx(own.now(), abs=0.1)

    with caplog.at_level("WARNING"):
        run_virtual(main())
    assert caplog.messages == ["deadlines use the machine clock error=no date"]


@pytest.mark.parametrize("error", [ServerError("away"), ForbiddenError("not you")])
def test_a_server_that_does_not_answer_is_asked_again(error: Exception) -> None:
    async def main() -> None:
        own = LoopClock(wall_at_zero=1.8e9)
        server, clock = Server(own), ServerClock(own)
        server.error = error
        task = asyncio.create_task(keep(server, clock, 40))
        await own.sleep(20)
        assert clock.width_seconds == math.inf, "unknown"
        assert 5 <= server.asked <= 12
        server.error = None
        await own.sleep(RETRY_LONGEST_SECONDS + 1)
        assert clock.known
        await task

    run_virtual(main())
