"""The processes of a stack behind one face: our own children, and servers of `vc_parts`.

Both are started, end by themselves or are ended, and answer whether they are ready. The supervisor
and `stack.json` need no more.
"""

import asyncio
from pathlib import Path
from typing import Final, Protocol

from vc_cli.processes import Child, Pid, birth_of
from vc_cli.stack_file import Role
from vc_parts.ports import LOOPBACK
from vc_parts.probe import Answer, http_get, listens
from vc_parts.process import Process

SERVICE_STOP_SECONDS_MAX: Final = 15.0
"""A service gives itself 10 s to clean up."""
_LOOK_SECONDS: Final = 0.25
_NO_ANSWER: Final = "no answer yet"


class Member(Protocol):
    """One process of the stack."""

    name: str
    role: Role
    log: Path
    port: int

    @property
    def pid(self) -> Pid: ...

    @property
    def health_url(self) -> str:
        """Base of `/readyz` and `/metrics`; empty when it has none."""
        ...

    async def start(self) -> None:
        """Start it, the first time or again."""
        ...

    async def ended(self) -> str:
        """Wait for its end; how it ended, in words."""
        ...

    async def stop(self) -> None:
        """End it in a bounded time."""
        ...


class OwnMember:
    """A process of our own code: it serves `/readyz` on a port that we picked."""

    def __init__(self, child: Child, *, role: Role, port: int) -> None:
        self.name = child.name
        self.role: Role = role
        self.log = child.log
        self.port = port
        self._child = child

    @property
    def pid(self) -> Pid:
        return self._child.pid

    @property
    def health_url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    async def start(self) -> None:
        self._child.start()

    async def ended(self) -> str:
        return await self._child.ended()

    async def stop(self) -> None:
        await self._child.stop(seconds_max=SERVICE_STOP_SECONDS_MAX)


class PartMember:
    """A process of a server that `vc_parts` got; starting it waits until it answers."""

    def __init__(self, process: Process, *, role: Role = "server", port: int = 0) -> None:
        self.name = process.name
        self.role: Role = role
        self.log = process.log
        self.port = port
        self._process = process

    @property
    def pid(self) -> Pid:
        return Pid(number=self._process.pid, birth=birth_of(self._process.pid))

    @property
    def health_url(self) -> str:
        return ""

    async def start(self) -> None:
        await self._process.start()

    async def ended(self) -> str:
        while self._process.is_running():  # noqa: ASYNC110 - a process has no event to wait for
            await asyncio.sleep(_LOOK_SECONDS)
        return "ended"

    async def stop(self) -> None:
        await self._process.stop()


async def unready(*, health_url: str, port: int, is_running: bool) -> str:
    """Why a process cannot do its work now; empty when it can, as far as it lets itself be asked."""
    if not is_running:
        return "not running"
    if health_url:
        return reason_in(await http_get(f"{health_url}/readyz"))
    if port and not await listens(port):
        return _NO_ANSWER
    return ""


def reason_in(answer: Answer) -> str:
    """What `/readyz` says, in one line; empty for ready."""
    if answer.status == 200:
        return ""
    lines = answer.body.decode(errors="replace").splitlines()
    reasons = [line.partition(": ")[2] or line for line in lines if not line.endswith(": ready")]
    return "; ".join(reasons) or (f"HTTP {answer.status}" if answer.status else _NO_ANSWER)
