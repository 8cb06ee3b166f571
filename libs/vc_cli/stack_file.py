"""`stack.json`: what `stack` started, for `status` and `stack-down` in another terminal.

It is written whole and for its owner only (an address may carry a password); a reader sees the old
file or the new one, never half. It outlives its processes, so whoever reads it asks each `Pid`
whether it still is the process that is meant.
"""

import os
import tempfile
from pathlib import Path
from typing import Final, Literal

import msgspec

from vc_cli.processes import Pid

FILE_NAME: Final = "stack.json"
FORMAT: Final = 1
_MODE: Final = 0o600

Role = Literal["server", "cluster", "service"]
"""A server that we got from elsewhere, the API server, or one of our services."""


class NoStackError(LookupError):
    """There is no stack to speak of; says how to start one."""


class ProcessEntry(msgspec.Struct, kw_only=True):
    """One process of the stack, as it was last started."""

    name: str
    role: Role
    pid: Pid
    started_at: float
    """Wall clock, for people."""
    log: str
    health_url: str = ""
    """Base of `/readyz` and `/metrics`; empty for a server that has none."""
    port: int = 0
    """Where it listens; 0 for one that nobody asks."""
    restarts: int = 0


class StackFile(msgspec.Struct, kw_only=True):
    """The stack of one home folder."""

    format: int = FORMAT
    state: Literal["starting", "ready", "stopping"] = "starting"
    supervisor: Pid
    """Starts what dies again; it ends everything when it is told to stop."""
    started_at: float
    cluster: str
    kubeconfig: str = ""
    kafka: str = ""
    redis: str = ""
    """May carry a password: never printed."""
    jaeger: str = ""
    """Where traces are looked at; empty without Jaeger."""
    dashboard: str = ""
    admission_url: str = ""
    """Where webhooks on a cluster that outlives the stack lead to; empty when there are none."""
    processes: list[ProcessEntry] = []

    def entry(self, name: str) -> ProcessEntry:
        """The process of that name."""
        return next(entry for entry in self.processes if entry.name == name)

    def running(self) -> list[ProcessEntry]:
        """The processes that are still there, in the order in which they were started."""
        return [entry for entry in self.processes if entry.pid.is_running]


def write(home: Path, stack: StackFile) -> None:
    """Replace the file."""
    home.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(stack), indent=1)
    handle, temporary = tempfile.mkstemp(dir=home, prefix=f".{FILE_NAME}.")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), _MODE)
            file.write(text)
        Path(temporary).replace(home / FILE_NAME)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(home: Path) -> StackFile:
    """The stack of this home; NoStackError when there is none that we can read."""
    path = home / FILE_NAME
    try:
        stack = msgspec.json.decode(path.read_bytes(), type=StackFile)
    except FileNotFoundError:
        raise NoStackError(f"no stack in {home}; `pyroclast stack` starts one") from None
    except msgspec.DecodeError as error:
        raise NoStackError(f"{path} cannot be read ({error}); remove it") from None
    if stack.format != FORMAT:
        raise NoStackError(f"{path} was written by another version; remove it")
    return stack


def remove(home: Path) -> None:
    """Forget the stack."""
    (home / FILE_NAME).unlink(missing_ok=True)
