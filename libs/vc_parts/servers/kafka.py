"""One Kafka broker in KRaft mode: broker and controller in one process, on two loopback ports."""

import base64
import os
import uuid
from collections.abc import Mapping
from pathlib import Path, PurePath

from vc_parts.catalogue import PARTS
from vc_parts.getting import obtain
from vc_parts.ports import LOOPBACK, free_port
from vc_parts.probe import kafka_answers
from vc_parts.process import Process
from vc_parts.progress import Progress, run_logged, silent
from vc_parts.recipes import JavaClassPath
from vc_parts.server import OneProcess
from vc_parts.toolchain import find_java

HEAP_MB_DEFAULT = 256
MESSAGE_BYTES_MAX = 5 * 1024 * 1024
"""Our messages are at most 4 MB; the rest is for headers and the batch around them."""
STOP_SECONDS_MAX = 30.0

LOG_SETTINGS = """\
rootLogger.level = INFO
rootLogger.appenderRef.stdout.ref = STDOUT
appender.stdout.type = Console
appender.stdout.name = STDOUT
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d %p %c{1}: %m%n
"""


def broker_settings(*, port: int, controller_port: int, data: PurePath) -> dict[str, str]:
    """Everything that differs from a broker in production, and why."""
    one_replica = (
        "default.replication.factor",
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.min.isr",
    )
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        **dict.fromkeys(one_replica, "1"),
        # Topics are declared in one module and created with their policies; a typo must not create another.
        "auto.create.topics.enable": "false",
        "delete.topic.enable": "true",
        # No wait for further members: tests start one consumer at a time.
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        # After a SIGKILL the controller refuses the broker until its old session is over (9 s by default).
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "500",
        "message.max.bytes": str(MESSAGE_BYTES_MAX),
        "replica.fetch.max.bytes": str(MESSAGE_BYTES_MAX),
        # Memory and files of a small machine: the default cleaner buffer is half of our heap, each index
        # file maps 10 MB, and the offsets topic has 50 partitions.
        "log.cleaner.dedupe.buffer.size": str(4 * 1024 * 1024),
        "log.index.size.max.bytes": str(1024 * 1024),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
    }


def java_command(java: Path, jars: Path, *, heap_mb: int, log_settings: Path) -> list[str]:
    """A small heap, one collector thread and the quick compiler: up in seconds on two busy cores."""
    memory = [f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    logging = [f"-Dlog4j2.configurationFile={log_settings}"]
    return [str(java)] + memory + logging + ["-cp", f"{jars}/*"]


class KafkaServer(OneProcess):
    """`async with KafkaServer() as kafka:` and use `kafka.bootstrap_servers`; `kafka.process` to hurt it."""

    def __init__(
        self,
        *,
        folder: Path | None = None,
        port: int = 0,
        heap_mb: int = HEAP_MB_DEFAULT,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__("kafka", folder=folder)
        self.port = port or free_port()
        self.bootstrap_servers = f"{LOOPBACK}:{self.port}"
        self.controller_port = free_port()
        self._heap_mb = heap_mb
        self.settings = dict(settings or {})
        """Over those of `broker_settings`; read at the start."""

    def make_process(self) -> Process:
        """Java starts twice: the first run formats the data folder, which KRaft insists on."""
        jars = obtain("kafka", say=Progress()).path
        recipe = PARTS["kafka"].recipe
        assert isinstance(recipe, JavaClassPath)
        java = find_java(recipe.java_version, Progress(), os.environ)
        settings_file, log_settings = self._write_settings()
        command = java_command(java, jars, heap_mb=self._heap_mb, log_settings=log_settings)
        self._format(command, settings_file)
        return Process(
            "kafka",
            command + ["kafka.Kafka", str(settings_file)],
            log=self.log_of("kafka"),
            ready=self.answers,
            stop_seconds_max=STOP_SECONDS_MAX,
        )

    async def answers(self) -> bool:
        """Whether a client can use it now."""
        return await kafka_answers(self.bootstrap_servers, self.port)

    def format_arguments(self) -> list[str]:
        """What else the data folder is born with."""
        return []

    def _write_settings(self) -> tuple[Path, Path]:
        settings = broker_settings(
            port=self.port, controller_port=self.controller_port, data=self.folder / "data"
        )
        settings_file = self.folder / "server.properties"
        lines = [f"{key}={value}\n" for key, value in {**settings, **self.settings}.items()]
        settings_file.write_text("".join(lines))
        log_settings = self.folder / "log4j2.properties"
        log_settings.write_text(LOG_SETTINGS)
        return settings_file, log_settings

    def _format(self, command: list[str], settings_file: Path) -> None:
        if (self.folder / "data" / "meta.properties").exists():
            return  # a folder of the caller's from an earlier run: its topics stay
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", "--config", str(settings_file)]
        run_logged(
            command + tool + [f"--cluster-id={cluster_id}"] + self.format_arguments(),
            cwd=self.folder,
            log=self.log_of("kafka-format"),
            what="formatting Kafka's data folder",
            say=silent,
        )
