"""All services with a user each at Kafka and at Redis, and with no right but those that the chart lists."""

import asyncio
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.workload import gang
from tests.integration.deploy.acl_servers import chart_kafka, chart_redis
from tests.integration.stack.running import require
from vc.bus import BusForbiddenError
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.cli.pyroclast.acls import user_of
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.acls import AuthorizingKafka, AuthorizingRedis
from vc.clock import LoopClock
from vc.messages.access import access_of
from vc.messages.record import Message, TopicPartition
from vc.messages.topics import ALL, DEAD_LETTERS
from vc.parts.probe import http_get
from vc.snapshot import SnapshotUnavailableError
from vc.snapshot.redis import RedisSnapshot

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.xdist_group("stack"),
]

JOB_SECONDS_MAX = 120.0


async def test_jobs_complete_with_these_rights_and_nothing_else_is_allowed(
    tmp_path: Path,
) -> None:
    require("kafka", "redis")
    kafka, redis = chart_kafka(tmp_path / "kafka"), chart_redis(tmp_path / "redis")
    deployment = Deployment(tmp_path, real=False)
    deployment.ground.kafka, deployment.ground.redis = kafka, redis
    try:
        await deployment.start()
        for name in ("one", "two"):
            plugins = {"env": [], "svc": [], "ssh": [], "pytorch": ["--master=worker"]}
            await deployment.submit(gang(name, plugins=plugins, run_seconds=2))
        await deployment.completed(seconds_max=JOB_SECONDS_MAX)
        await check_sessions_were_kept(redis)
        await check_writes(kafka)
        await check_reads(kafka)
        await check_redis(redis)
        await check_a_denied_service_says_so(deployment, kafka)
    finally:
        await deployment.stop()
    for service in SERVICES:
        log = (tmp_path / "logs" / f"{service}.log").read_text(errors="replace")
        assert "ACLs forbid" not in log, service
        assert "NOPERM" not in log, service
        assert "no permissions" not in log, service


async def check_sessions_were_kept(redis: AuthorizingRedis) -> None:
    store = RedisSnapshot.from_url(redis.url_of("dashboard"))
    try:
        assert await store.session_ids(limit=10)
    finally:
        await store.close()


def bus_of(kafka: AuthorizingKafka, service: str) -> KafkaBus:
    return KafkaBus(KafkaConfig.from_env(kafka.environment_of(service)), clock=LoopClock())


async def check_writes(kafka: AuthorizingKafka) -> None:
    """Every topic that a service may not write refuses it with a sentence, and every other takes it."""
    for service in ("plugin-env", "dashboard", "scheduler"):
        bus, may = bus_of(kafka, service), set(access_of(service).writes)
        try:
            for topic in ALL:
                message = Message(topic=topic.name, partition=0, key="nobody/nothing", value=None)
                if topic.name not in may:
                    with pytest.raises(BusForbiddenError) as denied:
                        await bus.publish([message])
                    assert f"user {user_of(service)}" in str(denied.value)
                    assert topic.name in str(denied.value)
                    assert "docs/acls.md" in str(denied.value)
                elif topic is DEAD_LETTERS:
                    await bus.publish([message])
        finally:
            await bus.close()


async def check_reads(kafka: AuthorizingKafka) -> None:
    bus = bus_of(kafka, "plugin-env")
    try:
        with pytest.raises(BusForbiddenError, match=r"cluster\.jobs"):
            await bus.end_offsets("cluster.jobs")
        with pytest.raises(BusForbiddenError, match=r"cluster\.pods"):
            await bus.reader({TopicPartition("cluster.pods", 0): 0})
        with pytest.raises(BusForbiddenError, match="vc-plugin-svc"):
            await bus.member("vc-plugin-svc", ["plugin.env.requests"])
    finally:
        await bus.close()


async def check_redis(redis: AuthorizingRedis) -> None:
    """Sessions are the scheduler's to write, and a checkpoint is its service's."""
    for service in ("dashboard", "usage-ledger"):
        store = RedisSnapshot.from_url(redis.url_of(service))
        try:
            with pytest.raises(SnapshotUnavailableError):
                await store.append_session("forged", b"x")
            with pytest.raises(SnapshotUnavailableError):
                await store.load("scheduler")
        finally:
            await store.close()


async def check_a_denied_service_says_so(deployment: Deployment, kafka: AuthorizingKafka) -> None:
    """A queue-controller with a plugin's user: one sentence, not ready, and it lives on."""
    deployment.logins["queue-controller"] = kafka.environment_of("plugin-env")
    lives = deployment.run_service("queue-controller", instance="denied")
    said = ""
    for _ in range(120):
        try:
            said = (await http_get(f"{lives.url}/readyz")).body.decode()
        except OSError:
            said = ""
        if "ACLs forbid" in said:
            break
        await asyncio.sleep(0.5)
    assert "ACLs forbid user vc-plugin-env" in said
    assert "cluster.progress" in said
    await asyncio.sleep(10)
    log = (deployment.home / "logs" / "denied.log").read_text(errors="replace")
    assert 1 <= log.count("ACLs forbid") <= 2, "once, not once a try"
    assert "Traceback" not in log
    await deployment.stop_service("denied")
