"""Each contract test runs once per backend."""

from collections.abc import AsyncIterator

import pytest

from tests.contracts.snapshot.backends import Backend, BackendFactory, memory_backend
from vc_snapshot import SnapshotStore

FACTORIES: dict[str, BackendFactory] = {"memory": memory_backend}


@pytest.fixture(params=list(FACTORIES))
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    """A cache and its server."""
    async with FACTORIES[request.param]() as made:
        yield made


@pytest.fixture
def store(backend: Backend) -> SnapshotStore:
    """The cache alone."""
    return backend.store
