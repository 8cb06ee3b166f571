"""Kafka away for a minute, all topics deleted, Redis flushed: the API server is the only truth.

Each scenario shows that its fault has happened: topics are deleted and born anew, a checkpoint was there,
is gone and is written again, and a scheduler starts from it.
"""

import asyncio

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from redis.asyncio import Redis

from tests.e2e.deployment import READY_SECONDS_MAX, Deployment
from tests.e2e.scenario import MARKS, on_embedded
from tests.e2e.workload import numbered
from vc.bus import BusError
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.cli.pyroclast.processes import resident_bytes
from vc.messages.progress import progress_of
from vc.messages.record import TopicPartition
from vc.messages.topics import ALL, PROGRESS
from vc.runtime.consuming.checkpoint_writer import CHECKPOINT_PERIOD_SECONDS
from vc.scheduler.service import CHECKPOINT
from vc.snapshot.redis import RedisSnapshot

pytestmark = MARKS

STOPPED_SECONDS = 60.0
JOBS = 10
"""Submitted before, in the middle of and after each fault."""
WIPES = 3
WIPE_PAUSE_SECONDS = 8.0
FLUSHES = 10
FLUSH_PAUSE_SECONDS = 0.5
COMPLETE_SECONDS_MAX = 180.0
CHECKPOINT_SECONDS_MAX = 3 * CHECKPOINT_PERIOD_SECONDS
"""Until one is written again: within a period, and the scheduler may have been in the middle of one."""
GROWN_BYTES_MAX = 50_000_000
"""What a service may hold more at the end of an outage, and when it has caught up: nobody keeps what it
cannot send."""
LOG_BYTES_MAX = 300_000
"""What one service may log over an outage: whoever asks in circles would write megabytes."""


async def submit(deployment: Deployment, prefix: str) -> None:
    for number in range(JOBS):
        await deployment.submit(numbered(prefix, number))


def log_bytes(deployment: Deployment) -> dict[str, int]:
    return {name: lives.log.stat().st_size for name, lives in deployment.services.items()}


def memory_bytes(deployment: Deployment) -> dict[str, int]:
    return {name: resident_bytes(lives.pid) for name, lives in deployment.services.items()}


def most_grown(before: dict[str, int], *later: dict[str, int]) -> tuple[str, int]:
    """Who grew most, and by how much."""
    grown = {name: max(each[name] for each in later) - size for name, size in before.items()}
    name = max(grown, key=lambda name: grown[name])
    return name, grown[name]


@pytest.mark.timeout(600)
@on_embedded
async def test_kafka_is_away_for_a_minute(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    broker = deployment.ground.kafka.process
    await submit(deployment, "before")
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    logged, held = log_bytes(deployment), memory_bytes(deployment)
    pids = {name: lives.pid for name, lives in deployment.services.items()}
    await submit(deployment, "at-its-end")
    await broker.stop()
    stopped_at = deployment.clock.monotonic()
    await submit(deployment, "meanwhile")
    await asyncio.sleep(STOPPED_SECONDS - (deployment.clock.monotonic() - stopped_at))
    reasons = {name: await lives.unready() for name, lives in deployment.services.items()}
    held_away = memory_bytes(deployment)
    await broker.start()
    back_at = deployment.clock.monotonic()
    assert reasons["scheduler"]
    assert reasons["job-controller"]
    await submit(deployment, "after")
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    caught_up = deployment.clock.monotonic() - back_at
    loud, logged_more = most_grown(logged, log_bytes(deployment))
    assert logged_more < LOG_BYTES_MAX, f"{loud} logged {logged_more} bytes"
    assert pids == {name: lives.pid for name, lives in deployment.services.items()}
    large, held_more = most_grown(held, held_away, memory_bytes(deployment))
    assert held_more < GROWN_BYTES_MAX, f"{large} holds {held_more} bytes more"
    await deployment.verdict(
        "Kafka stopped",
        faults=f"1 stop of {STOPPED_SECONDS:.0f} s, all jobs done {caught_up:.0f} s after its return, "
        f"no log grew more than {logged_more / 1000:.0f} kB ({loud}), no process more than "
        f"{held_more / 1e6:.0f} MB ({large})",
        since=since,
    )


async def incarnation(bus: KafkaBus) -> str:
    """Of the newest progress; empty when there is none to be read now."""
    newest = ""
    try:
        (start,) = await bus.start_offsets(PROGRESS.name)
        (end,) = await bus.end_offsets(PROGRESS.name)
        if start >= end:
            return ""
        reader = await bus.reader({TopicPartition(PROGRESS.name, 0): max(start, end - 1)})
        try:
            for record in await reader.poll(max_records=100, wait_seconds=5.0):
                newest = progress_of(record).stamp.incarnation
        finally:
            await reader.close()
    except BusError:
        return ""
    return newest


async def born_anew(deployment: Deployment, bus: KafkaBus, known: list[str]) -> None:
    """Wait until all topics are there and progress is told of an incarnation that nobody knew."""

    async def missing() -> str:
        try:
            absent = await bus.missing_topics(ALL)
        except BusError as error:
            return str(error)
        born = await incarnation(bus)
        if absent or not born or born in known:
            return f"absent {absent}, incarnation {born!r} after {known}"
        known.append(born)
        return ""

    await deployment.until(missing, seconds_max=READY_SECONDS_MAX)


@pytest.mark.timeout(600)
@on_embedded
@pytest.mark.gate
async def test_all_topics_are_deleted_while_everything_runs(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    config = KafkaConfig.from_env(deployment.ground.kafka.environment_of(""))
    bus = await KafkaBus.connect(config, clock=deployment.clock)
    admin = AIOKafkaAdminClient(**config.client_settings())
    await admin.start()
    known: list[str] = []
    try:
        await born_anew(deployment, bus, known)
        for wipe in range(WIPES):
            await submit(deployment, f"wipe-{wipe}")
            answer = await admin.delete_topics([topic.name for topic in ALL])
            refused = {topic: code for topic, code in answer.topic_error_codes if code}
            assert len(answer.topic_error_codes) == len(ALL)
            assert not refused, f"not deleted: {refused}"
            await submit(deployment, f"wiped-{wipe}")
            await born_anew(deployment, bus, known)
            await asyncio.sleep(WIPE_PAUSE_SECONDS)
    finally:
        await admin.close()
        await bus.close()
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    assert len(set(known)) == 1 + WIPES
    await deployment.verdict(
        "All topics deleted",
        faults=f"{WIPES} times {len(ALL)} topics, {WIPES} new incarnations",
        since=since,
    )


class Checkpoints:
    """Looks at what the scheduler keeps in Redis."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._store = RedisSnapshot.from_url(deployment.ground.redis.url)
        self.written = 0
        """How often one was waited for and came."""

    async def is_there(self) -> bool:
        """Whether there is a whole one."""
        return await self._store.load(CHECKPOINT) is not None

    async def wait(self) -> None:
        """Until there is a whole one."""

        async def absent() -> str:
            return "" if await self.is_there() else "there is no checkpoint"

        await self._deployment.until(absent, seconds_max=CHECKPOINT_SECONDS_MAX)
        self.written += 1

    async def close(self) -> None:
        await self._store.close()


async def flush(url: str) -> None:
    """Over a connection of its own: the server may be another one since the last time."""
    async with Redis.from_url(url) as client:
        await client.flushall()


async def starts_warm(deployment: Deployment) -> str:
    """Kill the scheduler and wait until the next one has told how it started."""
    scheduler = deployment.services["scheduler"]
    read_to = scheduler.log.stat().st_size
    assert scheduler.kill()
    told = ""

    async def untold() -> str:
        nonlocal told
        with scheduler.log.open("rb") as file:
            file.seek(read_to)
            lines = file.read().decode(errors="replace").splitlines()
        told = next((line for line in lines if "warm start" in line or "cold start" in line), "")
        return "" if told else "the scheduler has not told how it started"

    await deployment.until(untold, seconds_max=READY_SECONDS_MAX)
    return told


@pytest.mark.timeout(600)
@on_embedded
@pytest.mark.gate
async def test_redis_is_flushed_and_restarted(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    redis = deployment.ground.redis
    await submit(deployment, "before")
    checkpoints = Checkpoints(deployment)
    try:
        await checkpoints.wait()
        for _ in range(FLUSHES):
            await flush(redis.url)
            await asyncio.sleep(FLUSH_PAUSE_SECONDS)
        await flush(redis.url)
        assert not await checkpoints.is_there()
        await checkpoints.wait()
        await redis.process.kill()
        await submit(deployment, "meanwhile")
        await asyncio.sleep(FLUSHES * FLUSH_PAUSE_SECONDS)
        await redis.process.start()
        await flush(redis.url)
        await submit(deployment, "after")
        await checkpoints.wait()
    finally:
        await checkpoints.close()
    started = await starts_warm(deployment)
    assert "warm start" in started, started
    await submit(deployment, "restarted")
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    await deployment.verdict(
        "Redis flushed and restarted",
        faults=f"{FLUSHES + 2} flushes, 1 SIGKILL, a checkpoint there {checkpoints.written} times, the "
        "scheduler killed and started from it",
        since=since,
    )
