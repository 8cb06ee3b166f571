"""How long a start is waited for: as long as something happens, and at most so long.

A machine may be slow, so a fixed time is wrong on some of them. What hangs shows nothing new: no line in its log, no
other reason for not being ready. Both limits come from the environment, and the error names the limit that was reached.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vc_model import variables

STALL: Final = variables.seconds(
    "PYROCLAST_STALL_SECONDS_MAX",
    120.0,
    low=1.0,
    high=86_400.0,
    meaning="how long a start may show nothing new (no log line, no change of readiness)",
)
START: Final = variables.seconds(
    "PYROCLAST_START_SECONDS_MAX",
    600.0,
    low=1.0,
    high=86_400.0,
    meaning="how long the servers, and then the services, may take to start in all",
)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """The two limits of a start."""

    stall_seconds_max: float = STALL.default
    seconds_max: float = START.default

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Patience":
        """ValueError names the variable, the value and what to write."""
        return cls(stall_seconds_max=STALL.read(env), seconds_max=START.read(env))


class Wait:
    """One wait under these limits."""

    def __init__(self, patience: Patience, *, now: float) -> None:
        self._patience = patience
        self._began = now
        self._moved = now
        self._seen: Hashable = None

    def over(self, progress: Hashable, *, now: float) -> str:
        """Why it is over; empty while it may go on. Any change of `progress` counts as progress."""
        if progress != self._seen:
            self._seen, self._moved = progress, now
        if now - self._began > self._patience.seconds_max:
            return f"{self._patience.seconds_max:g} s are over ({START.name})"
        if now - self._moved > self._patience.stall_seconds_max:
            return f"nothing new for {self._patience.stall_seconds_max:g} s ({STALL.name})"
        return ""


def size_of(log: Path) -> int:
    """How much a process has written; 0 before its first line."""
    try:
        return log.stat().st_size
    except OSError:
        return 0
