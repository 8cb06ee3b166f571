"""`stack.json`: what `stack` has started, for `status` and `stack-down` in another terminal.

It is written atomically and readable for its owner only, because an address may contain a password.
It outlives its processes, so readers check with each `Pid` whether it is still the same process.
"""

import os
import tempfile
from pathlib import Path
from typing import Final, Literal

import msgspec

from vc.cli.pyroclast.processes import Pid

FILE_NAME: Final = "stack.json"
FORMAT: Final = 1
_MODE: Final = 0o600

Role = Literal["server", "cluster", "service"]
"""A third-party server, the API server, or one of our services."""


class NoStackError(LookupError):
    """There is no readable stack. The message says how to start one."""


class ProcessEntry(msgspec.Struct, kw_only=True):
    """One process of the stack, as of its last start."""

    name: str
    role: Role
    pid: Pid
    started_at: float
    """Wall clock time, for display."""
    log: str
    health_url: str = ""
    """The base URL of `/readyz` and `/metrics`. Empty for a server without them."""
    port: int = 0
    """The port on which the process listens. 0 if it has none that matters."""
    restarts: int = 0


class StackFile(msgspec.Struct, kw_only=True):
    """The stack of one home folder."""

    format: int = FORMAT
    state: Literal["starting", "ready", "stopping"] = "starting"
    supervisor: Pid
    """The process that restarts members that end, and stops everything on a signal."""
    started_at: float
    cluster: str
    kubeconfig: str = ""
    kafka: str = ""
    kafka_login: dict[str, str] = {}
    """The administrator's KAFKA_ variables at a broker with ACLs.

    Contains a password: never print it.
    """
    redis: str = ""
    """May contain a password: never print it."""
    jaeger: str = ""
    """The URL of the trace viewer. Empty without Jaeger."""
    dashboard: str = ""
    admission_url: str = ""
    """The address of webhooks on a cluster that outlives the stack. Empty if there are none."""
    processes: list[ProcessEntry] = []

    def entry(self, name: str) -> ProcessEntry:
        """The process with that name."""
        return next(entry for entry in self.processes if entry.name == name)

    def running(self) -> list[ProcessEntry]:
        """The processes that still run, in the order of their start."""
        return [entry for entry in self.processes if entry.pid.is_running]


def write(home: Path, stack: StackFile) -> None:
    """Replace the file atomically."""
    home.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(stack), indent=1)
    handle, temporary = tempfile.mkstemp(dir=home, prefix=f".{FILE_NAME}.")
    try:
        with os.fdopen(handle, "wb") as file:
            # Before the content is written: it may include passwords.
            os.fchmod(file.fileno(), _MODE)
            file.write(text)
        Path(temporary).replace(home / FILE_NAME)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(home: Path) -> StackFile:
    """The stack of this home folder. NoStackError if there is none or it is unreadable."""
    path = home / FILE_NAME
    try:
        stack = msgspec.json.decode(path.read_bytes(), type=StackFile)
    except FileNotFoundError:
        raise NoStackError(f"no stack in {home}; `pyroclast stack` starts one") from None
    except msgspec.DecodeError as error:
        raise NoStackError(f"{path} cannot be read ({error}); remove it") from None
    # A file of another version could name processes in a way that this version misreads.
    if stack.format != FORMAT:
        raise NoStackError(f"{path} was written by another version; remove it")
    return stack


def remove(home: Path) -> None:
    """Remove `stack.json`, so that the stack counts as stopped."""
    (home / FILE_NAME).unlink(missing_ok=True)
