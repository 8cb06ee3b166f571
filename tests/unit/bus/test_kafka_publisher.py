"""A producer that hangs costs a bounded time, and the next publish has another; time is virtual.

The producers are stand-ins: aiokafka's cannot be made to hang at will.
"""

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.contracts.bus.steps import message
from vc.bus import BusUnavailableError
from vc.bus.kafka import publisher as publishing
from vc.bus.kafka.config import KafkaConfig
from vc.bus.kafka.ending import END_SECONDS_MAX
from vc.bus.kafka.publisher import ACKNOWLEDGED_SECONDS_MAX, KafkaPublisher
from vc.clock import LoopClock, run_virtual

HANG_SECONDS = 1e6
HEALTHY, MUTE, ENDLESS = "healthy", "mute", "endless"


class Batch:
    def __init__(self) -> None:
        self._count = 0

    def append(self, **_: Any) -> SimpleNamespace:
        self._count += 1
        return SimpleNamespace(offset=self._count - 1)

    def close(self) -> None: ...


class Producer:
    """Acknowledges, or never does, or does not even end."""

    def __init__(self, mood: str) -> None:
        self._mood = mood
        self.client = SimpleNamespace(close=self._cut)
        self.cut_off = False
        self._sender = SimpleNamespace(sender_task=None)

    async def start(self) -> None:
        self._sender.sender_task = asyncio.ensure_future(asyncio.sleep(HANG_SECONDS))

    def create_batch(self) -> Batch:
        return Batch()

    async def send_batch(self, *_: Any, **__: Any) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        if self._mood == HEALTHY:
            future.set_result(SimpleNamespace(offset=0))
        return future

    async def stop(self) -> None:
        if self._mood == ENDLESS:
            await asyncio.sleep(HANG_SECONDS)

    async def _cut(self) -> None:
        self.cut_off = True

    @property
    def at_work(self) -> bool:
        return not (self.cut_off and self._sender.sender_task.cancelled())


class Topics:
    """All there."""

    async def check_there(self, names: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(names, 1)

    def forget_known(self) -> None: ...


@pytest.fixture
def moods(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of the producers that are made, in order."""
    left: list[str] = []

    def make(**_: Any) -> Producer:
        return Producer(left.pop(0))

    monkeypatch.setattr(publishing, "AIOKafkaProducer", make)
    monkeypatch.setattr(publishing, "pace_metadata", lambda _: None)
    return left


def new_publisher() -> KafkaPublisher:
    config = KafkaConfig(bootstrap_servers="nowhere:1")
    return KafkaPublisher(config, broker=Topics(), clock=LoopClock())  # type: ignore[arg-type]


@pytest.mark.parametrize("mood", [MUTE, ENDLESS])
def test_a_publish_without_acknowledgement_fails_in_time_and_the_next_goes_through(
    moods: list[str], mood: str
) -> None:
    async def main() -> None:
        moods[:] = [mood, HEALTHY]
        publisher, loop = new_publisher(), asyncio.get_running_loop()
        with pytest.raises(BusUnavailableError, match="1 of 1 batches were not acknowledged"):
            await publisher.publish([message("t")])
        assert loop.time() <= ACKNOWLEDGED_SECONDS_MAX + 1
        hung: Any = publisher._producer
        began = loop.time()
        assert await publisher.publish([message("t")]) == [0]
        assert loop.time() - began <= 2 * END_SECONDS_MAX + 1
        assert not hung.at_work, "nothing of it may arrive behind what is newer"

    run_virtual(main())


def test_closing_a_producer_that_does_not_end_is_bounded(moods: list[str]) -> None:
    async def main() -> None:
        moods[:] = [ENDLESS]
        publisher, loop = new_publisher(), asyncio.get_running_loop()
        with pytest.raises(BusUnavailableError):
            await publisher.publish([message("t")])
        began = loop.time()
        await publisher.close()
        assert loop.time() - began <= 2 * END_SECONDS_MAX + 1

    run_virtual(main())
