"""A service as a process that is killed, stopped, continued and started again, and remembers how often.

Whoever dies is started again after a short pause, as a kubelet does it. A death that nobody ordered is
told apart: in most scenarios a service has no reason to end by itself.
"""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from vc.cli.pyroclast.processes import Child
from vc.cli.pyroclast.stack.members import SERVICE_STOP_SECONDS_MAX, unready
from vc.cli.pyroclast.stack.plan import command_of
from vc.parts.ports import LOOPBACK
from vc.parts.probe import http_get

RESTART_SECONDS = 0.3
FAULT = b"failed and is started again"
"""What a process logs when the service inside it raised something that nobody foresaw."""


class ServiceLives:
    """One replica of a service, life after life."""

    def __init__(
        self, service: str, *, instance: str, env: Mapping[str, str], port: int, logs: Path
    ) -> None:
        self.instance = instance
        self.url = f"http://{LOOPBACK}:{port}"
        self._port = port
        self._child = Child(instance, command_of(service), env=env, log=logs / f"{instance}.log")
        self._keeping: asyncio.Task[None] | None = None
        self._ordered = False
        self.kills = 0
        self.last_end = ""
        """How it ended the last time, in words."""
        self.own_ends: list[str] = []
        """Ends that nobody ordered."""
        self._read_to = 0

    @property
    def pid(self) -> int:
        return self._child.pid.number

    @property
    def log(self) -> Path:
        return self._child.log

    def start(self) -> None:
        """Start it and keep it alive from now on."""
        self._child.start()
        self._keeping = asyncio.create_task(self._keep(), name=f"keep-{self.instance}")

    async def _keep(self) -> None:
        while True:
            how = self.last_end = await self._child.ended()
            if not self._ordered:
                self.own_ends.append(f"{self.instance} {how}")
            self._ordered = False
            await asyncio.sleep(RESTART_SECONDS)
            self._child.start()

    def kill(self) -> bool:
        """SIGKILL; False when it was dead at that moment."""
        if self._child.end() or self._ordered:
            return False
        self._ordered = True
        os.kill(self.pid, signal.SIGKILL)
        self.kills += 1
        return True

    def terminate(self) -> None:
        """SIGTERM, as a rolling update does it; it is started again when it has ended."""
        self._ordered = True
        os.kill(self.pid, signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP, as on a machine that hangs."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    async def stop(self) -> None:
        """End it for good, in order."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if not self._child.end():
            self.resume()
        await self._child.stop(seconds_max=SERVICE_STOP_SECONDS_MAX)

    def faults(self) -> int:
        """How often the service raised inside its process since this was last asked."""
        with self.log.open("rb") as file:
            file.seek(self._read_to)
            text = file.read()
        self._read_to += len(text)
        return text.count(FAULT)

    async def unready(self) -> str:
        """Why it cannot work now; empty when it can."""
        alive = self._child.pid.is_running
        return await unready(health_url=self.url, port=self._port, is_running=alive)

    async def meter(self, name: str) -> float:
        """One sample without labels; 0 when it is not there."""
        answer = await http_get(f"{self.url}/metrics")
        for line in answer.body.decode().splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
        return 0.0
