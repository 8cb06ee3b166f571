"""Kafka behind TLS and SASL, Redis behind TLS and a password, and jobs with ssh keys through it all.

Afterwards every record of every topic, every value in Redis, every log and every span is searched for
the private keys, for the passwords, and for what a job carries in every free-form place of its templates.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from tests.builders.planted import Planted, in_any_form, unpacked
from tests.e2e.deployment import Deployment
from tests.e2e.workload import gang
from tests.integration.deploy.tls_tunnel import TlsTunnel
from tests.integration.stack.running import require
from vc.bus import BusError
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.cli.pyroclast.stack.acls import AuthorizingKafka, AuthorizingRedis
from vc.clock import LoopClock
from vc.cluster import NotFoundError
from vc.messages.topics import ALL
from vc.model.api.kinds import PODS, SECRETS
from vc.parts import JaegerServer
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
SPANS_SECONDS_MAX = 30.0
POLL_SECONDS = 0.2
OWN_KEY = "MIIEowIBAAKCAQEAverysecretmaterialofauser"
GIVEN = [f"--ssh-private-key=-----BEGIN KEY-----\n{OWN_KEY}\n", "--ssh-public-key=ssh-rsa AAAA"]


class Secured:
    """The servers, and what lets one in."""

    def __init__(self, folder: Path) -> None:
        self.kafka = AuthorizingKafka(folder=folder / "kafka")
        self.redis = AuthorizingRedis(folder=folder / "redis")
        self.tunnel = TlsTunnel(target_port=self.redis.port, folder=folder)

    def redis_url(self, *, password: str = "", trusting: bool = True) -> str:
        password = password or self.redis.password
        trust = f"?ssl_ca_certs={self.tunnel.ca}" if trusting else ""
        return f"rediss://:{password}@127.0.0.1:{self.tunnel.port}/0{trust}"

    def kafka_environment(self, other: Mapping[str, str]) -> dict[str, str]:
        address = {"KAFKA_BOOTSTRAP_SERVERS": self.kafka.bootstrap_servers}
        return {**address, **self.kafka.client_environment, **other}


@pytest.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    """Up; Redis only through the tunnel."""
    require("kafka", "redis")
    servers = Secured(tmp_path)
    await servers.tunnel.start()
    async with servers.kafka, servers.redis:
        yield servers
    await servers.tunnel.stop()


WRONG_LOGINS: dict[str, dict[str, str]] = {
    "another password": {"KAFKA_SASL_PASSWORD": "another"},
    "a user nobody knows": {"KAFKA_SASL_USERNAME": "nobody"},
    "an authority nobody told us of": {"KAFKA_SSL_CAFILE": ""},
    "no TLS": {"KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT"},
}


async def test_who_may_not_is_not_let_in_and_who_may_is(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    for what, wrong in WRONG_LOGINS.items():
        with pytest.raises(BusError) as refused:
            await create_topics(secured.kafka_environment(wrong))
        assert secured.kafka.password not in str(refused.value), what
    assert await create_topics(secured.kafka_environment({})) == [ALL[0].name]
    for url in (
        secured.redis_url(password="another"),
        secured.redis_url(trusting=False),
        f"redis://:{secured.redis.password}@127.0.0.1:{secured.tunnel.port}/0",
    ):
        with pytest.raises(SnapshotUnavailableError) as away:
            await ask_redis(url)
        assert secured.redis.password not in str(away.value)
    await ask_redis(secured.redis_url())
    assert secured.redis.password not in caplog.text
    assert secured.kafka.password not in caplog.text


async def create_topics(environment: Mapping[str, str]) -> list[str]:
    bus = await KafkaBus.connect(KafkaConfig.from_env(environment), clock=LoopClock())
    try:
        return await bus.ensure_topics([ALL[0]])
    finally:
        await bus.close()


async def ask_redis(url: str) -> None:
    store = RedisSnapshot.from_url(url)
    try:
        await store.load("nothing")
    finally:
        await store.close()


# -- no secret anywhere ------------------------------------------------------------------------------


async def test_keys_and_passwords_are_in_no_message_no_log_and_no_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("kafka", "redis", "jaeger")
    servers, jaeger = Secured(tmp_path), JaegerServer(folder=tmp_path / "jaeger")
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")
    deployment = Deployment(tmp_path, real=False)
    deployment.ground.kafka, deployment.ground.redis = servers.kafka, servers.redis
    await servers.tunnel.start()
    servers.redis.url = servers.redis_url()
    async with jaeger:
        deployment.otlp = jaeger.otlp_endpoint
        try:
            await deployment.start()
            planted = Planted()
            key = await run_keyed_jobs(deployment, planted)
            assert servers.tunnel.connections > 0
            places = {
                "bus": await everything_on_the_bus(servers),
                "redis": await everything_in_redis(servers),
                "spans": await every_span(jaeger),
            }
        finally:
            await deployment.stop()
            await servers.tunnel.stop()
    places["sessions in redis"] = unpacked(places["redis"])
    for log in sorted((tmp_path / "logs").glob("*.log")):
        places[log.name] = log.read_bytes()
    for place in (
        "bus",
        "redis",
        "sessions in redis",
        "spans",
        "job-controller.log",
        "plugin-ssh.log",
    ):
        assert places[place], f"nothing was found in {place}, so nothing was searched"
    assert b"keyed" in places["bus"]
    assert b"default/planted" in places["bus"]
    secrets = {
        "the key that was made": key,
        "the key that was given": OWN_KEY,
        "Kafka's password": servers.kafka.password,
        "Redis' password": servers.redis.password,
        **{f"Kafka's password of {name}": word for name, word in servers.kafka.passwords.items()},
        **{f"Redis' password of {name}": word for name, word in servers.redis.passwords.items()},
        **planted.secrets,
    }
    found = [
        f"{what} is in {place}"
        for what, secret in secrets.items()
        for place, content in places.items()
        if any(form in content for form in in_any_form(secret))
    ]
    sizes = {place: len(content) for place, content in places.items()}
    print(f"\nsearched {sum(sizes.values())} bytes: {sizes}")
    assert found == []


async def run_keyed_jobs(deployment: Deployment, planted: Planted) -> str:
    """One with a key of our making, one with the user's, one with secrets all over its templates; a line
    from inside the made key."""
    manifest = planted.job(gang("planted", plugins={"svc": [], "ssh": []}, run_seconds=2))
    manifest["spec"]["volumes"] = [{"mountPath": "/data", "volumeClaim": planted.claim("claim")}]
    await deployment.submit(manifest)
    await deployment.submit(gang("keyed", plugins={"ssh": [], "svc": []}, run_seconds=5))
    await deployment.submit(gang("given", plugins={"ssh": GIVEN}, run_seconds=1))
    lines: list[str] = []

    async def no_secret() -> str:
        try:
            secret = await deployment.cluster.get(SECRETS, name="keyed-ssh", namespace="default")
        except NotFoundError:
            return "no Secret yet"
        lines.extend(base64.b64decode(secret["data"]["id_ed25519"]).decode().splitlines())
        return ""

    await deployment.until(no_secret, seconds_max=JOB_SECONDS_MAX)
    await deployment.until(partial(not_whole, deployment, planted), seconds_max=JOB_SECONDS_MAX)
    await deployment.completed(seconds_max=JOB_SECONDS_MAX)
    return lines[len(lines) // 2]


async def not_whole(deployment: Deployment, planted: Planted) -> str:
    """Empty when a pod has all that its template says: else nothing would be proven by a search."""
    try:
        pod = await deployment.cluster.get(PODS, name="planted-worker-0", namespace="default")
    except NotFoundError:
        return "no pod yet"
    wanted = {place for place in planted.secrets if place.startswith("task worker")}
    lost = wanted - set(planted.found_in(msgspec.json.encode(pod)))
    return f"the pod has lost {sorted(lost)}" if lost else ""


async def everything_on_the_bus(servers: Secured) -> bytes:
    config = KafkaConfig.from_env(servers.kafka_environment({}))
    consumer = AIOKafkaConsumer(
        **config.client_settings(), auto_offset_reset="earliest", enable_auto_commit=False
    )
    await consumer.start()
    try:
        logs = [
            TopicPartition(topic.name, partition)
            for topic in ALL
            for partition in range(topic.partitions)
        ]
        consumer.assign(logs)
        ends = await consumer.end_offsets(logs)
        content = b""
        for at in logs:
            while await consumer.position(at) < ends[at]:
                for record in (await consumer.getmany(at, timeout_ms=1_000)).get(at, []):
                    headers = b"".join(value for _, value in record.headers)
                    content += (record.key or b"") + (record.value or b"") + headers
        return content
    finally:
        await consumer.stop()


async def everything_in_redis(servers: Secured) -> bytes:
    client: Any = Redis.from_url(servers.redis_url(), decode_responses=False)
    content = b""
    try:
        async for name in client.scan_iter():
            content += name
            match await client.type(name):
                case b"hash":
                    content += b"".join((await client.hgetall(name)).values())
                case b"list":
                    content += b"".join(await client.lrange(name, 0, -1))
                case b"string":
                    content += await client.get(name)
        return content
    finally:
        await client.aclose()


async def every_span(jaeger: JaegerServer) -> bytes:
    """Of all services, once the job's own are there."""
    for _ in range(int(SPANS_SECONDS_MAX / POLL_SECONDS)):
        answer = await http_get(f"{jaeger.query_url}/api/services")
        names = msgspec.json.decode(answer.body).get("data") or []
        pages = [
            await http_get(f"{jaeger.query_url}/api/traces?service={name}&limit=1000")
            for name in names
        ]
        content = b"".join(page.body for page in pages)
        if b"plugin-ssh" in content:
            return content
        await asyncio.sleep(POLL_SECONDS)
    return b""
