"""What lies in Redis: nothing of an older checkpoint, and nothing of a broken save, for long."""

import asyncio

import pytest
from redis.asyncio import Redis

from tests.contracts.snapshot.redis_backend import Cache, RedisBackend
from tests.contracts.snapshot.test_checkpoints import checkpoint
from vc.snapshot.redis import (
    COMMAND_BYTES_MAX,
    ORPHAN_SECONDS,
    REPLACED_SECONDS,
    _commands_of,
    _head_of,
    _read_head,
)

pytestmark = pytest.mark.redis


STAYS: int = -1
"""What Redis says of a key without an expiry."""


async def lives(admin: Redis, backend: RedisBackend) -> list[int]:
    """For how many seconds the keys stay, those first that stay for good."""
    return sorted([await admin.ttl(key) for key in await backend.keys()])


async def test_a_save_leaves_one_head_and_one_hash_without_an_expiry(redis_cache: Cache) -> None:
    async with Redis.from_url(redis_cache.url, protocol=2) as admin:
        backend = RedisBackend(redis_cache, admin)
        for epoch in range(3):
            await backend.store.save("scheduler", checkpoint(epoch=epoch))
        head, chunks, *replaced = await lives(admin, backend)
        assert (head, chunks) == (STAYS, STAYS)
        assert len(replaced) == 2
        assert all(0 <= seconds <= REPLACED_SECONDS for seconds in replaced)
        await backend.flush()
        await backend.store.close()


async def test_who_reads_a_version_that_is_replaced_gets_it_whole(redis_cache: Cache) -> None:
    async with Redis.from_url(redis_cache.url, protocol=2) as admin:
        backend = RedisBackend(redis_cache, admin)
        first, second = checkpoint(epoch=1), checkpoint(epoch=2)
        await backend.store.save("scheduler", first)
        head = _read_head(await admin.get(backend.store._key("checkpoint", "scheduler")))
        await backend.store.save("scheduler", second)
        assert head is not None
        assert await backend.store._chunks("scheduler", head) == first.chunks
        await backend.flush()
        await backend.store.close()


async def test_two_who_save_at_once_leave_one_head_and_one_hash(redis_cache: Cache) -> None:
    """Both read the same old head; what the first wrote must go with the second."""
    async with Redis.from_url(redis_cache.url, protocol=2) as admin:
        backend = RedisBackend(redis_cache, admin)
        store = backend.store
        for round_ in range(10):
            both = [checkpoint(epoch=2 * round_), checkpoint(epoch=2 * round_ + 1)]
            await asyncio.gather(*(store.save("scheduler", each) for each in both))
            assert await store.load("scheduler") in both
            assert (await lives(admin, backend)).count(STAYS) == 2
        await backend.flush()
        await store.close()


async def test_chunks_of_a_save_that_broke_off_expire(redis_cache: Cache) -> None:
    async with Redis.from_url(redis_cache.url, protocol=2) as admin:
        backend = RedisBackend(redis_cache, admin)
        store = backend.store
        key = store._chunks_key("scheduler", _head_of(checkpoint()).version)
        for fields in _commands_of(checkpoint().chunks):
            await store._write_chunks(key, fields)
        assert await store.load("scheduler") is None
        assert 0 < await admin.ttl(key) <= ORPHAN_SECONDS
        await backend.flush()
        await store.close()


async def test_a_column_above_the_bound_of_a_command_goes_in_pieces(redis_cache: Cache) -> None:
    large = checkpoint(chunks={"wide": b"w" * (2 * COMMAND_BYTES_MAX + 1), "empty": b""})
    assert len(list(_commands_of(large.chunks))) == 3
    async with Redis.from_url(redis_cache.url, protocol=2) as admin:
        backend = RedisBackend(redis_cache, admin)
        await backend.store.save("scheduler", large)
        assert await backend.store.load("scheduler") == large
        await backend.flush()
        await backend.store.close()
