"""Time limits of a start: it may continue while it makes progress, up to a total limit.

A fixed limit is wrong for slow machines. A start that hangs shows no progress: no new line in its
log, and no other reason for not being ready. Both limits come from the environment, and the error
names the limit that was reached.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vc.model import variables

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
    """The two time limits of a start."""

    stall_seconds_max: float = STALL.default
    seconds_max: float = START.default

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Patience":
        """Read the limits. ValueError names the variable, the value and the fix."""
        return cls(stall_seconds_max=STALL.read(env), seconds_max=START.read(env))


class Wait:
    """One wait with these limits."""

    def __init__(self, patience: Patience, *, now: float) -> None:
        self._patience = patience
        self._began = now
        self._moved = now
        self._seen: Hashable = None

    def over(self, progress: Hashable, *, now: float) -> str:
        """Why the wait is over, or "" to continue. Any change of `progress` counts as progress."""
        if progress != self._seen:
            self._seen, self._moved = progress, now
        # The total limit is checked first: steady progress must not extend it.
        if now - self._began > self._patience.seconds_max:
            return f"{self._patience.seconds_max:g} s are over ({START.name})"
        if now - self._moved > self._patience.stall_seconds_max:
            return f"nothing new for {self._patience.stall_seconds_max:g} s ({STALL.name})"
        return ""


def size_of(log: Path) -> int:
    """The size of a process's log. 0 before its first line."""
    try:
        return log.stat().st_size
    except OSError:
        return 0
