"""Identification of processes by more than their id.

Process ids are reused, and a file with ids survives a reboot. An id is therefore stored together
with the boot id and the start time of the process (its *start_id*). A process is signalled only if
both still match. A zombie counts as ended.

On Linux the data comes from `/proc`, elsewhere from `ps`.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

PROC: Final = Path("/proc")
POLL_SECONDS: Final = 0.05
KILL_SECONDS_MAX: Final = 5.0
"""Time for the kernel to end a process after SIGKILL."""
_PS_SECONDS_MAX: Final = 5.0
_START_FIELD: Final = 19
"""Index of `starttime`, counted from the state, which follows the closing bracket of the
command.
"""
_KILOBYTE: Final = 1024


class Pid(msgspec.Struct, frozen=True, kw_only=True):
    """One process, identified beyond the reuse of its id."""

    number: int
    start_id: str = msgspec.field(name="birth")
    """Boot id and start time. `stack.json` of an earlier release has the name `birth`."""

    @property
    def is_running(self) -> bool:
        """Whether exactly this process still runs."""
        return start_id_of(self.number) == self.start_id


def start_id_of(number: int) -> str:
    """When the process was started, as text to compare. Empty if it does not exist any more."""
    if not PROC.joinpath("self").exists():
        return _ps(number, "lstart")
    try:
        # The boot id is included, because start times are counted from the boot.
        stat = PROC.joinpath(str(number), "stat").read_text()
        boot = PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    # The command may contain spaces and brackets, so fields are counted from its last bracket.
    fields = stat.rpartition(")")[2].split()
    # A zombie holds no port and ignores signals; its parent only has not reaped it yet.
    return "" if fields[0] in "ZX" else f"{boot}/{fields[_START_FIELD]}"


def resident_bytes(number: int) -> int:
    """The resident memory of a process. 0 if it does not exist."""
    if not PROC.joinpath("self").exists():
        return int(_ps(number, "rss") or 0) * _KILOBYTE
    try:
        pages = int(PROC.joinpath(str(number), "statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _ps(number: int, field: str) -> str:
    asked = subprocess.run(  # noqa: S603 - the arguments are a number and a word of ours
        ["ps", "-o", f"{field}=", "-p", str(number)],  # noqa: S607 - wherever the system has it
        capture_output=True,
        text=True,
        timeout=_PS_SECONDS_MAX,
        check=False,
    )
    return asked.stdout.strip()


async def stop(pid: Pid, *, seconds_max: float) -> bool:
    """Send SIGTERM, then SIGKILL after the time-out. Return whether the process has ended."""
    # A process that ignores SIGTERM must not keep the stack from stopping.
    if _signal(pid, signal.SIGTERM) and not await _gone(pid, seconds_max):
        _signal(pid, signal.SIGKILL)
    return await _gone(pid, KILL_SECONDS_MAX)


def _signal(pid: Pid, number: signal.Signals) -> bool:
    """Send a signal to this process only. Return whether it was running."""
    # Directly before the signal, which leaves the shortest time for the id to be reused.
    if not pid.is_running:
        return False
    try:
        os.kill(pid.number, number)
    except ProcessLookupError:
        return False
    return True


async def _gone(pid: Pid, seconds_max: float) -> bool:
    for _ in range(round(seconds_max / POLL_SECONDS)):
        if not pid.is_running:
            return True
        await asyncio.sleep(POLL_SECONDS)
    return not pid.is_running


class Child:
    """A process that we start, with a log and exactly the given environment.

    It is a plain `Popen` that is polled. Starting it cannot be cancelled half-way, which could
    leave an unknown process.
    """

    def __init__(
        self, name: str, command: Sequence[str], *, env: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._env = dict(env)
        self._process: subprocess.Popen[bytes] | None = None
        self.pid = Pid(number=0, start_id="")

    def start(self) -> Pid:
        """Start the process in its own session: Ctrl-C reaches only us, and we stop it in order."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        # The child inherits the descriptor, so it can be closed here after the start.
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - the command is ours
                self.command,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = Pid(number=self._process.pid, start_id=start_id_of(self._process.pid))
        return self.pid

    def end(self) -> str:
        """How the process ended. Empty while it runs."""
        code = self._process.poll() if self._process else 0
        if code is None:
            return ""
        return f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with code {code}"

    async def ended(self) -> str:
        """Wait until the process ends. Return how it ended."""
        while not (how := self.end()):  # noqa: ASYNC110 - a process has no event to wait for
            await asyncio.sleep(POLL_SECONDS)
        return how

    async def stop(self, *, seconds_max: float) -> None:
        """Stop the process and wait for it, so that no zombie is left."""
        if self._process is not None and not self.end():
            await stop(self.pid, seconds_max=seconds_max)
            # `stop` counts a zombie as ended; only polling the child reaps it.
            await self.ended()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
