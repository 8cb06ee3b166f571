"""What lies in Redis: nothing of an older checkpoint, and nothing of a broken save for long."""

import asyncio

import pytest
from redis.asyncio import Redis

from tests.contracts.snapshot.redis_backend import Cache, RedisBackend
from tests.contracts.snapshot.test_checkpoints import checkpoint
from vc_snapshot.redis import COMMAND_BYTES_MAX, ORPHAN_SECONDS, _commands_of, _head_of

pytestmark = pytest.mark.redis


async def test_a_save_leaves_one_head_and_one_hash_without_an_expiry(redis_cache: Cache) -> None:
    async with Redis.from_url(redis_cache.url, protocol=2) as admin:
        backend = RedisBackend(redis_cache, admin)
        for epoch in range(3):
            await backend.store.save("scheduler", checkpoint(epoch=epoch))
        keys = await backend.keys()
        assert len(keys) == 2
        assert [await admin.ttl(key) for key in keys] == [-1, -1]
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
            assert len(await backend.keys()) == 2
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
