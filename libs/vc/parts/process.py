"""One server process: start until ready, stop, kill, pause, resume, restart.

It is a plain `subprocess.Popen` that is polled, not an asyncio subprocess. A test session starts
servers in one event loop, uses them in many and stops them in another, but asyncio's child watchers
belong to one loop. Signals are sent only to the pid that was started here, never to a name or a
group.
"""

import asyncio
import atexit
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from vc.model.start_limits import Patience, Wait, size_of
from vc.parts.errors import StartFailedError
from vc.parts.probe import POLL_SECONDS, Ready
from vc.parts.progress import log_tail

STOP_SECONDS_MAX = 20.0
KILL_SECONDS_MAX = 10.0
PAUSE_SECONDS_MAX = 5.0
PAUSE_LOOK_SECONDS = 0.001
_running: dict[int, subprocess.Popen[bytes]] = {}


@atexit.register
def _kill_leftovers() -> None:
    """Kill all servers that still run when the interpreter exits."""
    for child in list(_running.values()):
        if child.poll() is None:
            child.kill()
            child.wait(KILL_SECONDS_MAX)


class Process:
    """A server with a fixed command line, so that `restart` uses the same port and data."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        ready: Ready,
        env: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        stop_seconds_max: float = STOP_SECONDS_MAX,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self.start_seconds = 0.0
        """How long the last start took until the server responded."""
        self._ready = ready
        self._env = dict(env or {})
        self._patience = patience or Patience.from_env(os.environ)
        self._stop_seconds_max = stop_seconds_max
        self._child: subprocess.Popen[bytes] | None = None
        self._paused = False

    def is_running(self) -> bool:
        """Whether the process runs, paused or not."""
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        """The pid of the process. It must have been started."""
        if self._child is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._child.pid

    async def start(self) -> None:
        """Start the server and wait until it responds.

        On failure, the error has the end of its log.
        """
        if self.is_running():
            return
        started = time.monotonic()
        wait = Wait(self._patience, now=started)
        self._spawn()
        while not await self._ready():
            now = time.monotonic()
            over = wait.over(size_of(self.log), now=now)
            # A process that has ended fails at once, without waiting for the time-out.
            if over or not self.is_running():
                await self._fail(now - started, over=over)
            await asyncio.sleep(POLL_SECONDS)
        self.start_seconds = time.monotonic() - started

    async def stop(self) -> None:
        """Send SIGTERM, then SIGKILL if the process does not end in time."""
        if not self.is_running():
            return
        self.resume()  # a paused process would not handle SIGTERM
        self._signal(signal.SIGTERM)
        if not await self._ended_within(self._stop_seconds_max):
            await self.kill()

    async def kill(self) -> None:
        """Send SIGKILL, like a crash. Returns when the process has ended."""
        self._signal(signal.SIGKILL)
        self._paused = False
        if not await self._ended_within(KILL_SECONDS_MAX):
            raise StartFailedError(f"{self.name} (pid {self.pid}) does not end on SIGKILL.")

    def pause(self) -> None:
        """Send SIGSTOP: connections stay open and nothing responds, as on a machine that hangs.

        Returns when the process is stopped, because on a busy machine its threads continue for a
        moment.
        """
        self._signal(signal.SIGSTOP)
        self._paused = True
        deadline = time.monotonic() + PAUSE_SECONDS_MAX
        # Bounded, because a thread inside a system call stops only when that call returns.
        while self.is_running() and not self._stands_still() and time.monotonic() < deadline:
            time.sleep(PAUSE_LOOK_SECONDS)

    def resume(self) -> None:
        """Send SIGCONT. Does nothing if the process is not paused."""
        if self._paused:
            self._signal(signal.SIGCONT)
            self._paused = False

    def _stands_still(self) -> bool:
        """Whether all threads are stopped, without reaping the child.

        True where this is unknown.
        """
        # Without waitid there is no way to check, so the signal is trusted.
        if not hasattr(os, "waitid"):
            return True
        # WNOWAIT keeps the report of the kernel, so that a second call still finds it.
        how = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, how) is not None

    async def restart(self) -> None:
        """Stop the process if it runs, then start the same command on the same port and data."""
        await self.stop()
        await self.start()

    def _spawn(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        # Appended, because after a crash and a restart the lines before the crash matter most.
        with self.log.open("ab") as output:
            try:
                self._child = subprocess.Popen(
                    self.command,
                    env={**os.environ, **self._env},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    # Ctrl-C reaches only us, and we stop the servers in order
                    start_new_session=True,
                )
            except OSError as error:
                raise StartFailedError(
                    f"{self.name} cannot be started: {self.command[0]}: {error.strerror}."
                ) from error
        # Registered, so that an interrupted test run does not leave the server behind.
        _running[self._child.pid] = self._child

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)

    async def _ended_within(self, seconds_max: float) -> bool:
        deadline = time.monotonic() + seconds_max
        while self.is_running():
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(POLL_SECONDS)
        if self._child is not None:
            # The pid may be reused after this, so it must not be killed at exit.
            _running.pop(self._child.pid, None)
        return True

    async def _fail(self, waited_seconds: float, *, over: str) -> None:
        code = self._child.poll() if self._child else None
        what = f"did not answer, {over}," if code is None else f"ended with exit code {code}"
        # Also if it has ended by itself: this removes it from the processes to kill at exit.
        await self.kill()
        raise StartFailedError(
            f"{self.name} {what} after {waited_seconds:.1f} s; the log is {self.log}, and its end is:\n"
            f"{log_tail(self.log)}"
        )
