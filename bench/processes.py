"""CPU seconds of processes, as the kernel counts them: user and system time of all their threads."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_USER_FIELD: Final = 11
"""`utime`, counted from the state, which follows the command's closing bracket; `stime` is next."""


def cpu_seconds(pid: int) -> float:
    """What a process has used since its start; 0 where there is no /proc or no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[_USER_FIELD : _USER_FIELD + 2]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class CpuCount:
    """What each of some processes used since the count began."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = dict(pids)
        self._before = {name: cpu_seconds(pid) for name, pid in self._pids.items()}

    def used(self) -> dict[str, float]:
        """By name, in the order in which they were given."""
        return {name: cpu_seconds(pid) - self._before[name] for name, pid in self._pids.items()}
