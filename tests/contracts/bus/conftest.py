"""Each contract test runs once per backend."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager

import pytest

from tests.contracts.bus.backends import Backend, memory_backend
from tests.contracts.bus.kafka_backend import Broker, kafka_backend, running_broker
from vc.bus import Bus

BackendFactory = Callable[[], AbstractAsyncContextManager[Backend]]


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[Broker]:
    """One for all tests; skipped with a sentence when there is none to be had."""
    with running_broker() as broker:
        yield broker


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.kafka)])
def make_backend(request: pytest.FixtureRequest) -> BackendFactory:
    """Not async, because the broker is started in a loop of its own."""
    if request.param == "memory":
        return memory_backend
    broker: Broker = request.getfixturevalue("kafka_broker")
    return lambda: kafka_backend(broker)


@pytest.fixture
async def backend(make_backend: BackendFactory) -> AsyncIterator[Backend]:
    """A bus and its broker."""
    async with make_backend() as made:
        yield made


@pytest.fixture
def bus(backend: Backend) -> Bus:
    """The bus alone, for tests that leave the broker in peace."""
    return backend.bus
