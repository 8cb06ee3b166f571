"""A real Redis: values stay while it runs and are gone after a restart."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.integration.parts.require import require
from vc.parts import RedisServer, redis_address

pytestmark = pytest.mark.redis

RUN_SECONDS_MAX = 30.0


async def put(url: str, key: str, value: str) -> None:
    """One SET on a connection of its own."""
    async with Redis.from_url(url) as client:
        await client.set(key, value)


async def read(url: str, key: str) -> bytes | None:
    """One GET on a connection of its own."""
    async with Redis.from_url(url) as client:
        value = await client.get(key)
        assert value is None or isinstance(value, bytes)
        return value


async def test_a_restart_is_a_wipe_on_the_same_address() -> None:
    require("redis", own=True)
    async with RedisServer(password="secret") as redis:
        await put(redis.url, "job", "a")
        assert await read(redis.url, "job") == b"a"
        await redis.process.restart()
        assert await read(redis.url, "job") is None


async def test_the_address_is_one_that_clients_can_use() -> None:
    require("redis")
    async with redis_address() as url:
        await put(url, "pyroclast-parts-test", "1")
        assert await read(url, "pyroclast-parts-test") == b"1"


def start_run_command() -> subprocess.Popen[str]:
    """`python -m vc.parts run redis`, as a person types it."""
    environment = {key: value for key, value in os.environ.items() if key != "REDIS_URL"}
    return subprocess.Popen(
        [sys.executable, "-m", "vc.parts", "run", "redis"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def test_run_prints_an_address_and_stops_on_ctrl_c() -> None:
    require("redis", own=True)
    child = start_run_command()
    try:
        assert child.stdout is not None
        line = await asyncio.to_thread(child.stdout.readline)
        key, _, url = line.strip().partition("=")
        assert key == "export REDIS_URL"
        await put(url, "job", "a")
    finally:
        child.send_signal(signal.SIGINT)
        out, err = await asyncio.to_thread(child.communicate, None, RUN_SECONDS_MAX)
    assert child.returncode == 0, err
    assert "stopping" in out
    with pytest.raises(RedisConnectionError):
        await read(url, "job")
