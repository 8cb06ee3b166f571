"""Kafka and Redis in containers, for machines with a Docker engine.

testcontainers is imported only here and only if an engine responds: its import takes half a second,
and it is a development dependency. Kafka runs from its own image instead of testcontainers' Kafka
class, which starts another distribution with other settings. Both ways therefore share
`broker_settings`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePosixPath
from typing import Any

from vc.parts.errors import PartMissingError
from vc.parts.fetch.catalogue import KAFKA_VERSION
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import Ready, kafka_answers, redis_answers, wait_until
from vc.parts.servers.kafka import broker_settings

KAFKA_IMAGE = f"apache/kafka:{KAFKA_VERSION}"
REDIS_IMAGE = "redis:7.4-alpine"
REDIS_PORT = 6379
START_SECONDS_MAX = 180.0
"""Includes the time to pull the image."""
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - inside the container; the engine publishes it on loopback only


def kafka_environment(port: int, controller_port: int) -> dict[str, str]:
    """The settings as environment variables of the image: KAFKA_<SETTING>, dots as underscores."""
    settings = broker_settings(
        port=port,
        controller_port=controller_port,
        data=PurePosixPath("/tmp/kafka"),  # noqa: S108
    )
    # Inside the container loopback would not be reachable through the published port.
    settings["listeners"] = (
        f"PLAINTEXT://{ANY_ADDRESS}:{port},CONTROLLER://{LOOPBACK}:{controller_port}"
    )
    return {"KAFKA_" + key.replace(".", "_").upper(): value for key, value in settings.items()}


@asynccontextmanager
async def kafka_container() -> AsyncIterator[str]:
    """Yield the bootstrap address.

    The port is the same inside and outside, because the broker advertises it.
    """
    port = free_port()
    container = _container(KAFKA_IMAGE, inner_port=port, outer_port=port)
    for key, value in kafka_environment(port, free_port()).items():
        container.with_env(key, value)
    address = f"{LOOPBACK}:{port}"
    async with _running(container, "kafka", lambda: kafka_answers(address, port)):
        yield address


@asynccontextmanager
async def redis_container() -> AsyncIterator[str]:
    """Yield a URL for REDIS_URL."""
    port = free_port()
    container = _container(REDIS_IMAGE, inner_port=REDIS_PORT, outer_port=port)
    # Without persistence, like the server that is started directly.
    container.with_command(["redis-server", "--save", "", "--appendonly", "no"])
    async with _running(container, "redis", lambda: redis_answers(port)):
        yield f"redis://{LOOPBACK}:{port}/0"


def _container(image: str, *, inner_port: int, outer_port: int) -> Any:  # untyped library
    try:
        from testcontainers.core.container import DockerContainer
    except ImportError as error:
        raise PartMissingError(
            "A Docker engine answers but testcontainers is not installed: `pip install testcontainers`."
        ) from error
    container: Any = DockerContainer(image)
    # Published on loopback only: these servers have no authentication.
    container.ports[f"{inner_port}/tcp"] = (LOOPBACK, outer_port)
    return container


@asynccontextmanager
async def _running(container: Any, name: str, ready: Ready) -> AsyncIterator[None]:
    # In a thread, because it may pull an image and would block the event loop.
    await asyncio.to_thread(container.start)
    try:
        await wait_until(
            ready,
            seconds_max=START_SECONDS_MAX,
            otherwise=lambda: f"{name} in a container did not answer in {START_SECONDS_MAX:.0f} s.",
        )
        yield
    finally:
        await asyncio.to_thread(container.stop)
