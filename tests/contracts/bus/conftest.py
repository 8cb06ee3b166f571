"""Each contract test runs once per backend."""

from collections.abc import AsyncIterator

import pytest

from tests.contracts.bus.backends import Backend, BackendFactory, memory_backend
from vc_bus import Bus

FACTORIES: dict[str, BackendFactory] = {"memory": memory_backend}


@pytest.fixture(params=list(FACTORIES))
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    """A bus and its broker."""
    async with FACTORIES[request.param]() as made:
        yield made


@pytest.fixture
def bus(backend: Backend) -> Bus:
    """The bus alone, for tests that leave the broker in peace."""
    return backend.bus
