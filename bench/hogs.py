"""Processes that take a share of the CPU: duty-cycled, and measured by what they got.

Each burns until it has used its part of the time since it began, then sleeps for a moment. They raise
their priority, where they may, because beside busy services a process of equal priority gets less than it
asks for. Linux shares the CPU between sessions first (autogroups), so each hog has a session of its own and
raises the priority of that too. What they got in the end is measured, and a run with another share is
discarded.
"""

import os
import subprocess
import sys
from types import TracebackType
from typing import Final, Self

from bench.processes import CpuCount

HOGS: Final = 6
_PROGRAM: Final = """
import os, sys, time
share = float(sys.argv[1])
try:
    os.nice(-10)
    with open("/proc/self/autogroup", "w") as autogroup:
        autogroup.write("-10")
except OSError:
    pass
began = time.monotonic()
while True:
    if time.process_time() < share * (time.monotonic() - began):
        until = time.process_time() + 0.004
        while time.process_time() < until:
            sum(range(500))
    else:
        time.sleep(0.004)
"""


class Hogs:
    """From entering until leaving; `share` is what they have got so far, of all cores."""

    def __init__(self, share: float) -> None:
        """0 hogs nothing."""
        self._wanted = share
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        each = self._wanted * _cores() / HOGS
        for _ in range(HOGS if self._wanted else 0):
            command = [sys.executable, "-c", _PROGRAM, f"{each:.4f}"]
            self._running.append(subprocess.Popen(command, start_new_session=True))
        self._cpu = CpuCount({str(n): hog.pid for n, hog in enumerate(self._running)})
        return self

    def share(self, seconds: float) -> float:
        """Of the CPU time that all cores had in so many seconds since entering."""
        return sum(self._cpu.used().values()) / (seconds * _cores())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for hog in self._running:
            hog.kill()
        for hog in self._running:
            hog.wait()


def _cores() -> int:
    return len(os.sched_getaffinity(0))
