"""Each contract test runs once per backend."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager

import pytest

from tests.contracts.snapshot.backends import Backend, memory_backend
from tests.contracts.snapshot.redis_backend import Cache, redis_backend, running_cache
from vc.snapshot import SnapshotStore

BackendFactory = Callable[[], AbstractAsyncContextManager[Backend]]


@pytest.fixture(scope="session")
def redis_cache() -> Iterator[Cache]:
    """One for all tests; skipped with a sentence when there is none to be had."""
    with running_cache() as cache:
        yield cache


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def make_backend(request: pytest.FixtureRequest) -> BackendFactory:
    """Not async, because the server is started in a loop of its own."""
    if request.param == "memory":
        return memory_backend
    cache: Cache = request.getfixturevalue("redis_cache")
    return lambda: redis_backend(cache)


@pytest.fixture
async def backend(make_backend: BackendFactory) -> AsyncIterator[Backend]:
    """A cache and its server."""
    async with make_backend() as made:
        yield made


@pytest.fixture
def store(backend: Backend) -> SnapshotStore:
    """The cache alone."""
    return backend.store
