"""Processes of this machine, told apart by more than their number.

A process id is given to another process some time after its owner has ended, and a file that
remembers ids outlives machines that restart. So an id is remembered together with its *birth*: the
boot and the moment at which the kernel started that process. Nothing is signalled unless both still
agree, and a zombie counts as ended.

Linux answers from `/proc`; elsewhere `ps` is asked.
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
"""After SIGKILL only the kernel is waited for."""
_PS_SECONDS_MAX: Final = 5.0
_START_FIELD: Final = 19
"""`starttime`, counted from the state, which follows the command's closing bracket."""
_KILOBYTE: Final = 1024


class Pid(msgspec.Struct, frozen=True, kw_only=True):
    """One process, for good."""

    number: int
    birth: str

    @property
    def is_running(self) -> bool:
        """Whether this very process still runs."""
        return birth_of(self.number) == self.birth


def birth_of(number: int) -> str:
    """When the process was started, as text to compare; empty when there is none (any more)."""
    if not PROC.joinpath("self").exists():
        return _ps(number, "lstart")
    try:
        stat = PROC.joinpath(str(number), "stat").read_text()
        boot = PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else f"{boot}/{fields[_START_FIELD]}"


def resident_bytes(number: int) -> int:
    """The memory that a process holds; 0 when it is gone."""
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
    """SIGTERM, SIGKILL when that does not do in time; whether the process is gone."""
    if _signal(pid, signal.SIGTERM) and not await _gone(pid, seconds_max):
        _signal(pid, signal.SIGKILL)
    return await _gone(pid, KILL_SECONDS_MAX)


def _signal(pid: Pid, number: signal.Signals) -> bool:
    """Signal this process and no other; whether it was there."""
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
    """A process that we start, with a log and exactly the environment it is given.

    It is a plain `Popen` that is polled: starting it has no point at which it could be cancelled
    half way and leave a process that nobody knows.
    """

    def __init__(
        self, name: str, command: Sequence[str], *, env: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._env = dict(env)
        self._process: subprocess.Popen[bytes] | None = None
        self.pid = Pid(number=0, birth="")

    def start(self) -> Pid:
        """Start it in a session of its own: Ctrl-C ends us, and we end it in order."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - the command is ours
                self.command,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = Pid(number=self._process.pid, birth=birth_of(self._process.pid))
        return self.pid

    def end(self) -> str:
        """How it ended, in words; empty while it runs."""
        code = self._process.poll() if self._process else 0
        if code is None:
            return ""
        return f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with code {code}"

    async def ended(self) -> str:
        """Wait for its end; how it ended."""
        while not (how := self.end()):  # noqa: ASYNC110 - a process has no event to wait for
            await asyncio.sleep(POLL_SECONDS)
        return how

    async def stop(self, *, seconds_max: float) -> None:
        """End it and wait, so that no zombie stays."""
        if self._process is not None and not self.end():
            await stop(self.pid, seconds_max=seconds_max)
            await self.ended()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
