"""One Kafka broker in KRaft mode: broker and controller in one process, on two loopback ports."""

import base64
import os
import uuid
from collections.abc import Mapping
from pathlib import Path, PurePath

from vc.parts.fetch.catalogue import PARTS
from vc.parts.fetch.getting import obtain
from vc.parts.fetch.recipes import JavaClassPath
from vc.parts.fetch.toolchain import find_java
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import kafka_answers
from vc.parts.process import Process
from vc.parts.progress import Progress, run_logged, silent
from vc.parts.server import OneProcess

HEAP_MB_DEFAULT = 256
MESSAGE_BYTES_MAX = 5 * 1024 * 1024
"""Our messages have at most 4 MB; the rest is for headers and batch overhead."""
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
    """The settings that differ from a broker in production, with reasons."""
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
        # Topics are declared in one module and created with their policies. A typo must not create
        # another topic.
        "auto.create.topics.enable": "false",
        "delete.topic.enable": "true",
        # Do not wait for further members, because tests start one consumer at a time.
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        # After a SIGKILL the controller rejects the broker until its old session has expired
        # (default: 9 s).
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "500",
        "message.max.bytes": str(MESSAGE_BYTES_MAX),
        "replica.fetch.max.bytes": str(MESSAGE_BYTES_MAX),
        # Limits for a small machine: the default cleaner buffer is half of our heap, each index
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
    """A small heap, one collector thread and the quick compiler, for a start in seconds on two
    cores.
    """
    memory = [f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    logging = [f"-Dlog4j2.configurationFile={log_settings}"]
    return [str(java)] + memory + logging + ["-cp", f"{jars}/*"]


class KafkaServer(OneProcess):
    """`async with KafkaServer() as kafka:` and use `kafka.bootstrap_servers`.

    `kafka.process` is for tests that kill or pause the broker.
    """

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
        """Settings that override those of `broker_settings`. They are read at the start."""

    def make_process(self) -> Process:
        """Java starts twice: the first run formats the data folder, as KRaft requires."""
        jars = obtain("kafka", say=Progress()).path
        recipe = PARTS["kafka"].recipe
        assert isinstance(recipe, JavaClassPath)
        java = find_java(recipe.java_version, Progress(), os.environ)
        settings_file, log_settings = self._write_settings()
        # The same command line for both runs: the tool and the broker share the class path.
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
        """Whether a client can use the broker now."""
        return await kafka_answers(self.bootstrap_servers, self.port)

    def format_arguments(self) -> list[str]:
        """Additional arguments for formatting the data folder."""
        return []

    def _write_settings(self) -> tuple[Path, Path]:
        settings = broker_settings(
            port=self.port, controller_port=self.controller_port, data=self.folder / "data"
        )
        settings_file = self.folder / "server.properties"
        # Later entries win, so that settings of the caller override the defaults.
        lines = [f"{key}={value}\n" for key, value in {**settings, **self.settings}.items()]
        settings_file.write_text("".join(lines))
        log_settings = self.folder / "log4j2.properties"
        log_settings.write_text(LOG_SETTINGS)
        return settings_file, log_settings

    def _format(self, command: list[str], settings_file: Path) -> None:
        if (self.folder / "data" / "meta.properties").exists():
            return  # a caller's folder from an earlier run: its topics are kept
        # Kafka requires a cluster id in this format: a uuid in URL-safe base64 without padding.
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", "--config", str(settings_file)]
        run_logged(
            command + tool + [f"--cluster-id={cluster_id}"] + self.format_arguments(),
            cwd=self.folder,
            log=self.log_of("kafka-format"),
            what="formatting Kafka's data folder",
            say=silent,
        )
