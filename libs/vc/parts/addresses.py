"""The address of a real server: given, in a container, or started here.

These functions are for tests and benches that only *use* a server. A test that kills, pauses or
restarts a server starts its own one from `vc.parts.servers`.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from vc.parts.availability import Way, availability_of, given_address
from vc.parts.containers import kafka_container, redis_container
from vc.parts.fetch.catalogue import PARTS
from vc.parts.servers.jaeger import JaegerServer
from vc.parts.servers.kafka import KafkaServer
from vc.parts.servers.kubernetes import ControlPlane
from vc.parts.servers.redis import RedisServer


@dataclass(frozen=True, kw_only=True)
class JaegerAddress:
    """The two endpoints of a Jaeger: for spans and for queries."""

    otlp_endpoint: str
    query_url: str


@asynccontextmanager
async def kafka_address() -> AsyncIterator[str]:
    """Yield `host:port` for KAFKA_BOOTSTRAP_SERVERS."""
    way = availability_of("kafka").way
    if way is Way.GIVEN:
        yield given_address(PARTS["kafka"], os.environ)
    elif way is Way.CONTAINER:
        async with kafka_container() as address:
            yield address
    else:
        async with KafkaServer() as kafka:
            yield kafka.bootstrap_servers


@asynccontextmanager
async def redis_address() -> AsyncIterator[str]:
    """Yield a URL for REDIS_URL."""
    way = availability_of("redis").way
    if way is Way.GIVEN:
        yield given_address(PARTS["redis"], os.environ)
    elif way is Way.CONTAINER:
        async with redis_container() as url:
            yield url
    else:
        async with RedisServer() as redis:
            yield redis.url


@asynccontextmanager
async def kubernetes_address() -> AsyncIterator[Path]:
    """Yield an administrator's kubeconfig. A control plane that is started here has no nodes."""
    given = given_address(PARTS["kubernetes"], os.environ)
    if given:
        yield Path(given)
    else:
        async with ControlPlane() as plane:
            yield plane.kubeconfig


@asynccontextmanager
async def jaeger_address() -> AsyncIterator[JaegerAddress]:
    """Yield both endpoints of a Jaeger."""
    given = given_address(PARTS["jaeger"], os.environ)
    if given:
        # given_address is empty unless both variables are set.
        query_url = os.environ["JAEGER_QUERY_URL"]
        yield JaegerAddress(otlp_endpoint=given, query_url=query_url)
    else:
        async with JaegerServer() as jaeger:
            yield JaegerAddress(otlp_endpoint=jaeger.otlp_endpoint, query_url=jaeger.query_url)
