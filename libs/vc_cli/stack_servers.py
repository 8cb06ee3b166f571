"""The servers that a stack stands on: Kafka and Redis always, Jaeger when it is at hand.

An address in the environment is used as it is. Otherwise a server is started from what is on the
machine or in the cache of parts, or what a package registry gives in seconds; a build of minutes
never starts from here, `make parts` is named instead. Everything begins empty: the API server is the
only truth, and what it says is published anew.
"""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Final

from vc_cli.stack_members import PartMember
from vc_cli.stack_supervision import Supervisor
from vc_model.faults import describe
from vc_parts import JaegerServer, KafkaServer, RedisServer, availability_of
from vc_parts.docker import docker_answers
from vc_parts.errors import PartError, PartMissingError
from vc_parts.server import Server

FOLDER: Final = "servers"
"""Below the home folder; the real control plane keeps its files there too."""


def remove_old(home: Path) -> None:
    """Remove what servers of an earlier stack have written, before the first one is started."""
    shutil.rmtree(home / FOLDER, ignore_errors=True)


class Servers:
    """Where the servers listen, once `start` has returned."""

    def __init__(self, home: Path, supervisor: Supervisor, *, starting: set[str]) -> None:
        """`starting` holds the names of servers for as long as they start, for whoever waits."""
        self._folder = home / FOLDER
        self._supervisor = supervisor
        self._starting = starting
        self.kafka = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "")
        self.redis = os.environ.get("REDIS_URL", "")
        self.otlp = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
        self.jaeger = os.environ.get("JAEGER_QUERY_URL", "")
        self.without = ""
        """A sentence about what is left out; empty when nothing is."""

    async def start(self) -> None:
        """Start together what is not given; PartError says what cannot be had."""
        async with asyncio.TaskGroup() as group:
            if not self.kafka:
                _need("kafka")
                group.create_task(self._start_kafka())
            if not self.redis:
                _need("redis")
                group.create_task(self._start_redis())
            if not self.otlp:
                group.create_task(self._start_jaeger())

    async def _start_kafka(self) -> None:
        server = KafkaServer(folder=self._folder / "kafka")
        await self._start(server, port=server.port)
        self.kafka = server.bootstrap_servers

    async def _start_redis(self) -> None:
        server = RedisServer(folder=self._folder / "redis")
        await self._start(server, port=server.port)
        self.redis = server.url

    async def _start_jaeger(self) -> None:
        """Traces are worth having, not worth failing for."""
        found = availability_of("jaeger", own=True)
        if not found.is_now:
            self.without = f"no traces: {found.why}"
            return
        server = JaegerServer(folder=self._folder / "jaeger")
        try:
            await self._start(server, port=int(server.query_url.rpartition(":")[2]))
        except PartError as error:
            self.without = f"no traces: {describe(error).splitlines()[0]}"
            return
        self.otlp, self.jaeger = server.otlp_endpoint, server.query_url

    async def _start(self, server: Server, *, port: int) -> None:
        self._starting.add(server.name)
        try:
            await server.start()
        finally:
            self._starting.discard(server.name)
        (process,) = server.processes
        self._supervisor.take(PartMember(process, port=port))


def _need(part: str) -> None:
    found = availability_of(part, own=True)
    if not found.is_now:
        instead = " `docker compose up` runs the same topology." if docker_answers() else ""
        raise PartMissingError(f"a stack needs {part}. {found.why}{instead}")
