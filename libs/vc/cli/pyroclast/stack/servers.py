"""The servers of a stack: always Kafka and Redis, and Jaeger if it is available.

An address in the environment is used as it is. Otherwise a server is started from what is
installed, cached, or downloadable within seconds. A build that takes minutes is never started here;
the error names `make parts` instead. All servers start empty: the API server is the only source of
truth, and its state is published again.
"""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.acls import (
    VARIABLE,
    AuthorizingKafka,
    AuthorizingRedis,
    acls_wanted,
    login_of,
)
from vc.cli.pyroclast.stack.members import PartMember
from vc.cli.pyroclast.stack.supervision import Supervisor
from vc.model.faults import describe
from vc.parts import JaegerServer, KafkaServer, RedisServer, availability_of
from vc.parts.docker import docker_answers
from vc.parts.errors import PartError, PartMissingError
from vc.parts.server import Server

FOLDER: Final = "servers"
"""Below the home folder. The real control plane has its files there, too."""


def remove_old(home: Path) -> None:
    """Remove the files of an earlier stack's servers, before the first server is started."""
    shutil.rmtree(home / FOLDER, ignore_errors=True)


class Servers:
    """The addresses of the servers, set when `start` has returned."""

    def __init__(self, home: Path, supervisor: Supervisor, *, starting: set[str]) -> None:
        """`starting` contains the names of servers while they start, for the progress report."""
        self._folder = home / FOLDER
        self._supervisor = supervisor
        self._starting = starting
        self.kafka = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "")
        self.redis = os.environ.get("REDIS_URL", "")
        self.otlp = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
        self.jaeger = os.environ.get("JAEGER_QUERY_URL", "")
        self.kafka_login: Mapping[str, str] = {}
        """The administrator's KAFKA_ variables for our own broker with ACLs, otherwise empty."""
        self.logins: Mapping[str, Mapping[str, str]] = {}
        """Variables of each service's own users at our own servers with ACLs, otherwise empty."""
        self.without = ""
        """A sentence about what is left out. Empty if nothing is."""

    async def start(self) -> None:
        """Start all servers that are not given, concurrently.

        PartError names what is unavailable.
        """
        # The stack cannot create users and ACLs on servers that it does not administer.
        with_acls = acls_wanted()
        if with_acls and (self.kafka or self.redis):
            raise ValueError(
                f"{VARIABLE}=on is for servers that the stack starts: unset KAFKA_BOOTSTRAP_SERVERS and "
                "REDIS_URL, or give your own servers the ACLs of docs/acls.md"
            )
        async with asyncio.TaskGroup() as group:
            if with_acls:
                _need("kafka")
                _need("redis")
                group.create_task(self._start_authorizing())
            if not self.kafka and not with_acls:
                _need("kafka")
                group.create_task(self._start_kafka())
            if not self.redis and not with_acls:
                _need("redis")
                group.create_task(self._start_redis())
            if not self.otlp:
                group.create_task(self._start_jaeger())

    async def _start_authorizing(self) -> None:
        """Start Kafka and Redis, each with one user per service."""
        kafka = AuthorizingKafka(folder=self._folder / "kafka")
        redis = AuthorizingRedis(folder=self._folder / "redis")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._start(kafka, port=kafka.port))
            group.create_task(self._start(redis, port=redis.port))
        self.kafka, self.redis = kafka.bootstrap_servers, redis.url
        self.kafka_login = kafka.environment_of("")
        self.logins = {name: login_of(name, kafka=kafka, redis=redis) for name in SERVICES}

    async def _start_kafka(self) -> None:
        server = KafkaServer(folder=self._folder / "kafka")
        await self._start(server, port=server.port)
        self.kafka = server.bootstrap_servers

    async def _start_redis(self) -> None:
        server = RedisServer(folder=self._folder / "redis")
        await self._start(server, port=server.port)
        self.redis = server.url

    async def _start_jaeger(self) -> None:
        """Start Jaeger. A failure only disables traces."""
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
        # Before its process exists, so that the progress report names it.
        self._starting.add(server.name)
        try:
            await server.start()
        finally:
            self._starting.discard(server.name)
        # Each of these servers has exactly one process.
        (process,) = server.processes
        self._supervisor.take(PartMember(process, port=port))


def _need(part: str) -> None:
    found = availability_of(part, own=True)
    if not found.is_now:
        instead = " `docker compose up` runs the same topology." if docker_answers() else ""
        raise PartMissingError(f"a stack needs {part}. {found.why}{instead}")
