"""One Redis on a loopback port that keeps nothing on disk: a restart is a wipe, which is what tests want."""

import asyncio
from pathlib import Path

from vc_parts.getting import obtain
from vc_parts.ports import LOOPBACK, free_port
from vc_parts.probe import redis_answers
from vc_parts.process import Process
from vc_parts.progress import Progress
from vc_parts.server import Server


def redis_command(program: Path, *, port: int, folder: Path, password: str = "") -> list[str]:
    """Neither snapshots nor an append-only file."""
    command = [str(program), "--bind", LOOPBACK, "--port", str(port), "--dir", str(folder)]
    command += ["--save", "", "--appendonly", "no", "--daemonize", "no"]
    return command + (["--requirepass", password] if password else [])


class RedisServer(Server):
    """`async with RedisServer() as redis:` and use `redis.url`; `redis.process` to hurt it."""

    def __init__(self, *, folder: Path | None = None, port: int = 0, password: str = "") -> None:
        super().__init__("redis", folder=folder)
        self.port = port or free_port()
        self._password = password
        login = f":{password}@" if password else ""
        self.url = f"redis://{login}{LOOPBACK}:{self.port}/0"

    @property
    def process(self) -> Process:
        """The server, for kill, pause, resume and restart."""
        return self.processes[0]

    async def prepare(self) -> None:
        """No files: all settings are on the command line."""
        found = await asyncio.to_thread(obtain, "redis", say=Progress())
        command = redis_command(
            found.path, port=self.port, folder=self.folder, password=self._password
        )
        self.processes = [
            Process(
                "redis",
                command,
                log=self.log_of("redis"),
                ready=lambda: redis_answers(self.port, self._password),
            )
        ]
