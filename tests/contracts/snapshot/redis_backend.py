"""Real Redis under the contract: one server for the whole run, a namespace for every test."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from redis.asyncio import Redis

from tests.contracts.contained import contained, only_in_container
from tests.contracts.snapshot.backends import SESSION_BYTES_MAX, SESSIONS_MAX, Backend
from vc.parts import RedisServer, require_or_skip_reason
from vc.parts.availability import Way, availability_of, given_address
from vc.parts.containers import redis_container
from vc.parts.fetch.catalogue import PARTS
from vc.snapshot.redis import RedisSnapshot


class Cache:
    """Where it is, and the process if it is ours to hurt."""

    def __init__(self, url: str, server: RedisServer | None) -> None:
        self.url = url
        self.server = server


@contextmanager
def running_cache() -> Iterator[Cache]:
    """A server for many tests, each with a loop of its own."""
    reason = require_or_skip_reason("redis")
    if reason:
        pytest.skip(reason)
    if availability_of("redis").way is Way.GIVEN:
        yield Cache(given_address(PARTS["redis"], os.environ), None)
        return
    if only_in_container("redis"):
        with contained(redis_container) as url:
            yield Cache(url, None)
        return
    server = RedisServer(password="contract")
    asyncio.run(server.start())
    try:
        yield Cache(server.url, server)
    finally:
        asyncio.run(server.stop())


class RedisBackend:
    """A cache in a namespace of its own, and an administrator beside it."""

    def __init__(self, cache: Cache, admin: Redis) -> None:
        self._cache = cache
        self._admin = admin
        self._namespace = f"contract-{secrets.token_hex(6)}"
        self.store = RedisSnapshot.from_url(
            cache.url,
            namespace=self._namespace,
            sessions_max=SESSIONS_MAX,
            session_bytes_max=SESSION_BYTES_MAX,
        )

    async def keys(self) -> list[str]:
        """All keys of the namespace."""
        found = [key async for key in self._admin.scan_iter(f"{self._namespace}:*")]
        return sorted(key.decode() for key in found)

    async def flush(self) -> None:
        """Only what is ours, since the server may have been given."""
        for key in await self.keys():
            await self._admin.delete(key)

    async def damage(self, name: str) -> None:
        versions = [key for key in await self.keys() if f":checkpoint:{name}:" in key]
        (chunks,) = [key for key in versions if await self._admin.ttl(key) < 0]
        (field, *_) = await self._admin.hkeys(chunks)
        await self._admin.hdel(chunks, field)

    async def evict(self, part: str) -> None:
        assert await self._admin.delete(f"{self._namespace}:sessions:{part}") == 1

    async def stop_server(self) -> None:
        if self._cache.server is None:
            pytest.skip("the server was given, or is in a container: not ours to stop")
        await self._cache.server.process.stop()

    async def start_server(self) -> None:
        assert self._cache.server is not None
        await self._cache.server.process.start()


@asynccontextmanager
async def redis_backend(cache: Cache) -> AsyncIterator[Backend]:
    admin = Redis.from_url(cache.url, protocol=2)
    backend = RedisBackend(cache, admin)
    yield backend
    if cache.server is not None:  # a test that failed in an outage leaves none behind
        await cache.server.process.start()
    await backend.flush()
    await backend.store.close()
    await admin.aclose()
