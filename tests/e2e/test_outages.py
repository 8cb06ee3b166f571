"""Kafka away for a minute, all topics deleted, Redis flushed: the API server is the only truth."""

import asyncio

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from redis.asyncio import Redis

from tests.e2e.deployment import Deployment
from tests.e2e.scenario import MARKS, on_embedded
from tests.e2e.workload import numbered
from vc_messages.topics import ALL

pytestmark = MARKS

STOPPED_SECONDS = 60.0
JOBS = 10
"""Submitted before, in the middle of and after each fault."""
WIPES = 3
WIPE_PAUSE_SECONDS = 8.0
FLUSHES = 10
FLUSH_PAUSE_SECONDS = 0.5
COMPLETE_SECONDS_MAX = 180.0
LOG_BYTES_MAX = 300_000
"""What one service may log over an outage: whoever asks in circles would write megabytes."""


async def submit(deployment: Deployment, prefix: str) -> None:
    for number in range(JOBS):
        await deployment.submit(numbered(prefix, number))


def log_bytes(deployment: Deployment) -> dict[str, int]:
    return {name: lives.log.stat().st_size for name, lives in deployment.services.items()}


@pytest.mark.timeout(600)
@on_embedded
async def test_kafka_is_away_for_a_minute(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    broker = deployment.ground.kafka.process
    await submit(deployment, "before")
    logged = log_bytes(deployment)
    await broker.stop()
    stopped_at = deployment.clock.monotonic()
    await submit(deployment, "meanwhile")
    await asyncio.sleep(STOPPED_SECONDS - (deployment.clock.monotonic() - stopped_at))
    reasons = {name: await lives.unready() for name, lives in deployment.services.items()}
    await broker.start()
    back_at = deployment.clock.monotonic()
    assert reasons["scheduler"]
    assert reasons["job-controller"]
    await submit(deployment, "after")
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    caught_up = deployment.clock.monotonic() - back_at
    grown = {name: size - logged[name] for name, size in log_bytes(deployment).items()}
    loud = max(grown, key=lambda name: grown[name])
    assert grown[loud] < LOG_BYTES_MAX, f"{loud} logged {grown[loud]} bytes"
    await deployment.verdict(
        "Kafka stopped",
        faults=f"1 stop of {STOPPED_SECONDS:.0f} s, all jobs done {caught_up:.0f} s after its return, "
        f"no log grew more than {grown[loud] / 1000:.0f} kB ({loud})",
        since=since,
    )


@pytest.mark.timeout(600)
@on_embedded
async def test_all_topics_are_deleted_while_everything_runs(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    admin = AIOKafkaAdminClient(bootstrap_servers=deployment.ground.kafka.bootstrap_servers)
    await admin.start()
    try:
        for wipe in range(WIPES):
            await submit(deployment, f"wipe-{wipe}")
            await admin.delete_topics([topic.name for topic in ALL])
            await submit(deployment, f"wiped-{wipe}")
            await asyncio.sleep(WIPE_PAUSE_SECONDS)
    finally:
        await admin.close()
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    await deployment.verdict(
        "All topics deleted", faults=f"{WIPES} times {len(ALL)} topics", since=since
    )


@pytest.mark.timeout(600)
@on_embedded
async def test_redis_is_flushed_and_restarted(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    await submit(deployment, "before")
    client = Redis.from_url(deployment.ground.redis.url)
    for _ in range(FLUSHES):
        await client.flushall()
        await asyncio.sleep(FLUSH_PAUSE_SECONDS)
    await client.aclose()
    await deployment.ground.redis.process.kill()
    await submit(deployment, "meanwhile")
    await asyncio.sleep(FLUSHES * FLUSH_PAUSE_SECONDS)
    await deployment.ground.redis.process.start()
    await submit(deployment, "after")
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    await deployment.verdict(
        "Redis flushed and restarted", faults=f"{FLUSHES} flushes, 1 SIGKILL", since=since
    )
