"""Readers and members that fail to connect, or are closed while connecting, leave no client open."""

import asyncio
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest

from tests.contracts.bus.steps import at_start
from vc.bus import BusClosedError, BusUnavailableError
from vc.bus.kafka import KafkaBus, KafkaConfig, member, reader
from vc.bus.kafka.connections import Connections
from vc.bus.kafka.ending import END_SECONDS_MAX
from vc.clock import LoopClock, run_virtual
from vc.parts.ports import LOOPBACK, free_port

MODULES = [reader, member]


def bus_with_topics(monkeypatch: pytest.MonkeyPatch) -> KafkaBus:
    """A bus that believes that its topics are there, and has no broker."""
    config = KafkaConfig(bootstrap_servers=f"{LOOPBACK}:{free_port()}")
    bus = KafkaBus(config, clock=LoopClock())

    async def there(names: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(names, 1)

    monkeypatch.setattr(bus._broker, "check_there", there)
    return bus


async def connect(bus: KafkaBus, module: ModuleType) -> None:
    if module is reader:
        await bus.reader(at_start("t"))
    else:
        await bus.member("g", ["t"])


@pytest.mark.parametrize("module", MODULES, ids=["reader", "member"])
async def test_what_cannot_connect_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    bus = bus_with_topics(monkeypatch)
    for _ in range(3):
        with pytest.raises(BusUnavailableError):
            await connect(bus, module)
    assert not bus._clients
    await bus.close()


@pytest.mark.parametrize("module", MODULES, ids=["reader", "member"])
async def test_a_consumer_that_is_ready_after_the_close_is_ended(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    bus = bus_with_topics(monkeypatch)
    connecting, ready = asyncio.Event(), asyncio.Event()
    started: list[Any] = []
    stopped: list[Any] = []

    async def start(consumer: Any) -> None:
        connecting.set()
        await ready.wait()
        started.append(consumer)

    async def stop(consumer: Any) -> None:
        if consumer in started:
            stopped.append(consumer)
        await consumer._client.close()

    monkeypatch.setattr(module, "start", start)
    monkeypatch.setattr(module, "stop", stop)
    making = asyncio.ensure_future(connect(bus, module))
    await connecting.wait()
    await bus.close()
    ready.set()
    with pytest.raises(BusClosedError):
        await making
    assert stopped == started != []
    for consumer in started:
        consumer._closed = True  # it was never started: there is nothing that its end could miss


class Hanging:
    """An admin client or a consumer that does not let go."""

    def __init__(self) -> None:
        self._client = self

    async def close(self) -> None:
        await asyncio.sleep(1e6)

    stop = close


def test_the_clients_of_a_broker_that_does_not_let_go_are_ended_in_time() -> None:
    async def main() -> None:
        connections: Any = Connections(KafkaConfig(bootstrap_servers="nowhere:1"))
        connections._admin._client, connections._offsets._client = Hanging(), Hanging()
        await connections.close()
        assert asyncio.get_running_loop().time() <= 2 * END_SECONDS_MAX + 1

    run_virtual(main())
