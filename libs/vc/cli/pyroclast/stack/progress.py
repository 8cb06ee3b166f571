"""Progress of a start: one line per process when it is ready, and the processes that are late."""

import asyncio
import sys
from typing import Final

from vc.cli.pyroclast.stack.members import Member, unready
from vc.cli.pyroclast.stack.supervision import Supervisor
from vc.clock import Clock
from vc.model.start_limits import Patience, Wait, size_of

LOOK_SECONDS: Final = 0.2
SILENT_SECONDS: Final = 2.0
"""Longest time without a message at first ..."""
SILENT_SECONDS_MAX: Final = 15.0
"""... which grows up to this time while nothing changes."""
LATE_SHOWN_MAX: Final = 3
REASON_LENGTH_MAX: Final = 40


class Progress:
    """Prints lines to standard error, each with the seconds since the start."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._spoke_at = self._started
        self._silent_seconds = SILENT_SECONDS

    def say(self, line: str) -> None:
        """Print an event at once; the next message about silence is due later."""
        self._silent_seconds = SILENT_SECONDS
        self._print(line)

    def say_if_silent(self, line: str) -> None:
        """Report that nothing has happened, if the last message is long enough ago."""
        if self._clock.monotonic() - self._spoke_at >= self._silent_seconds:
            self._silent_seconds = min(2 * self._silent_seconds, SILENT_SECONDS_MAX)
            self._print(line)

    def _print(self, line: str) -> None:
        """Print and flush, because the reader may be a pipe."""
        self._spoke_at = self._clock.monotonic()
        seconds = self._spoke_at - self._started
        print(f"{seconds:6.1f} s  {line}", file=sys.stderr, flush=True)


class Readiness:
    """Tracks which processes are ready, and reports each once."""

    def __init__(
        self, supervisor: Supervisor, progress: Progress, clock: Clock, *, patience: Patience
    ) -> None:
        self._supervisor = supervisor
        self._patience = patience
        self._progress = progress
        self._clock = clock
        self._reported: set[str] = set()
        self.starting: set[str] = set()
        """Servers without a process, or with one that does not respond yet."""

    async def narrate(self) -> None:
        """Report progress until cancelled, while servers are started elsewhere."""
        while True:
            await self._look()
            await self._clock.sleep(LOOK_SECONDS)

    async def wait(self) -> str:
        """Wait until every process is ready. Return "" or the reason why not."""
        wait = Wait(self._patience, now=self._clock.monotonic())
        while late := await self._look():
            # A slow start is fine while logs grow or reasons change.
            over = wait.over(self._moved(late), now=self._clock.monotonic())
            if over:
                return f"{over}: " + "; ".join(f"{name}: {why}" for name, why in late.items())
            await self._clock.sleep(LOOK_SECONDS)
        return ""

    def _moved(self, late: dict[str, str]) -> tuple[tuple[str, str, int], ...]:
        """Values that change while late processes make progress: their reasons and the size of
        their logs.
        """
        logs = {member.name: size_of(member.log) for member in self._supervisor.members}
        return tuple((name, why, logs.get(name, 0)) for name, why in late.items())

    async def _look(self) -> dict[str, str]:
        """Report processes that became ready. Return the late ones with their reasons."""
        # A process that was ready once is not probed again; the supervisor watches it.
        members = [m for m in self._supervisor.members if m.name not in self._reported]
        late = dict.fromkeys(sorted(self.starting), "starting")
        for member, why in zip(members, await _ask(members), strict=True):
            if why:
                late[member.name] = why
            else:
                self._reported.add(member.name)
                self._report(member)
        if late:
            self._progress.say_if_silent(f"waiting for {_summary(late)}")
        return late

    def _report(self, member: Member) -> None:
        where = f"port {member.port}" if member.port else ""
        line = f"{member.name:<24} ready   pid {member.pid.number:<8} {where}"
        self._progress.say(line.rstrip())


async def _ask(members: list[Member]) -> list[str]:
    return await asyncio.gather(
        *(
            unready(
                health_url=member.health_url, port=member.port, is_running=member.pid.is_running
            )
            for member in members
        )
    )


def _summary(late: dict[str, str]) -> str:
    """The first late processes with their reasons, and the number of the others."""
    shown = [f"{name} ({why[:REASON_LENGTH_MAX]})" for name, why in late.items()]
    more = len(shown) - LATE_SHOWN_MAX
    return ", ".join(shown[:LATE_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
