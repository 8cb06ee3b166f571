"""The processes of a stack behind one interface: our own children, and servers of `vc.parts`.

Both can be started and stopped, can end by themselves, and report whether they are ready. The
supervisor and `stack.json` need no more.
"""

import asyncio
from pathlib import Path
from typing import Final, Protocol

from vc.cli.pyroclast.processes import Child, Pid, start_id_of
from vc.cli.pyroclast.stack.stack_file import Role
from vc.parts.ports import LOOPBACK
from vc.parts.probe import Answer, http_get, listens
from vc.parts.process import Process

SERVICE_STOP_SECONDS_MAX: Final = 15.0
"""A service takes up to 10 s to shut down."""
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
        """The base URL of `/readyz` and `/metrics`. Empty if the process has none."""
        ...

    async def start(self) -> None:
        """Start the process, the first time or again."""
        ...

    async def ended(self) -> str:
        """Wait until the process ends. Return how it ended."""
        ...

    async def stop(self) -> None:
        """Stop the process within a bounded time."""
        ...


class OwnMember:
    """A process of our own code. It serves `/readyz` on a port that we chose."""

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
    """A server process of `vc.parts`. `start` returns when the server responds."""

    def __init__(self, process: Process, *, role: Role = "server", port: int = 0) -> None:
        self.name = process.name
        self.role: Role = role
        self.log = process.log
        self.port = port
        self._process = process

    @property
    def pid(self) -> Pid:
        return Pid(number=self._process.pid, start_id=start_id_of(self._process.pid))

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
    """Why a process is not ready. Empty if it is, as far as it can be checked."""
    if not is_running:
        return "not running"
    if health_url:
        return reason_in(await http_get(f"{health_url}/readyz"))
    # Servers without a health page count as ready when their port accepts connections.
    if port and not await listens(port):
        return _NO_ANSWER
    return ""


def reason_in(answer: Answer) -> str:
    """The reasons in a response of `/readyz`, in one line. Empty if ready."""
    if answer.status == 200:
        return ""
    lines = answer.body.decode(errors="replace").splitlines()
    reasons = [line.partition(": ")[2] or line for line in lines if not line.endswith(": ready")]
    return "; ".join(reasons) or (f"HTTP {answer.status}" if answer.status else _NO_ANSWER)
