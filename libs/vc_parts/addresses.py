"""Gives the address of a real server, whichever way there is: given, in a container, or started here.

These are for tests and benches that only *use* a server. One that hurts it (kill, pause, restart) starts its own
from `vc_parts.servers`.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from vc_parts.availability import Way, availability_of, given_address
from vc_parts.catalogue import PARTS
from vc_parts.containers import kafka_container, redis_container
from vc_parts.servers.jaeger import JaegerServer
from vc_parts.servers.kafka import KafkaServer
from vc_parts.servers.kubernetes import ControlPlane
from vc_parts.servers.redis import RedisServer


@dataclass(frozen=True, kw_only=True)
class JaegerAddress:
    """Where spans go in and traces come out."""

    otlp_endpoint: str
    query_url: str


@asynccontextmanager
async def kafka_address() -> AsyncIterator[str]:
    """Yields `host:port` for KAFKA_BOOTSTRAP_SERVERS."""
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
    """Yields a URL for REDIS_URL."""
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
    """Yields an administrator's kubeconfig; a control plane started here has no nodes."""
    given = given_address(PARTS["kubernetes"], os.environ)
    if given:
        yield Path(given)
    else:
        async with ControlPlane() as plane:
            yield plane.kubeconfig


@asynccontextmanager
async def jaeger_address() -> AsyncIterator[JaegerAddress]:
    """Yields both ends of a Jaeger."""
    given = given_address(PARTS["jaeger"], os.environ)
    if given:
        query_url = os.environ["JAEGER_QUERY_URL"]
        yield JaegerAddress(otlp_endpoint=given, query_url=query_url)
    else:
        async with JaegerServer() as jaeger:
            yield JaegerAddress(otlp_endpoint=jaeger.otlp_endpoint, query_url=jaeger.query_url)
