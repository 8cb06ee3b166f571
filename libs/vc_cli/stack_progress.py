"""Lines for the person who waits for a stack: one per process when it is ready, and who is late."""

import asyncio
import sys
from typing import Final

from vc_cli.stack_members import Member, unready
from vc_cli.stack_supervision import Supervisor
from vc_clock import Clock
from vc_parts.patience import Patience, Wait, size_of

LOOK_SECONDS: Final = 0.2
SILENT_SECONDS: Final = 2.0
"""Nobody waits longer without being told what for ..."""
SILENT_SECONDS_MAX: Final = 15.0
"""... but the same is told less and less often."""
LATE_SHOWN_MAX: Final = 3
REASON_LETTERS_MAX: Final = 40


class Progress:
    """Lines on standard error, each with the seconds since the start."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._spoke_at = self._started
        self._silent_seconds = SILENT_SECONDS

    def say(self, line: str) -> None:
        """Something happened."""
        self._silent_seconds = SILENT_SECONDS
        self._print(line)

    def say_if_silent(self, line: str) -> None:
        """Nothing happened, and that for long enough to be told."""
        if self._clock.monotonic() - self._spoke_at >= self._silent_seconds:
            self._silent_seconds = min(2 * self._silent_seconds, SILENT_SECONDS_MAX)
            self._print(line)

    def _print(self, line: str) -> None:
        """Flushes, since the reader may be a pipe."""
        self._spoke_at = self._clock.monotonic()
        seconds = self._spoke_at - self._started
        print(f"{seconds:6.1f} s  {line}", file=sys.stderr, flush=True)


class Readiness:
    """Who is ready; each process is told of once."""

    def __init__(
        self, supervisor: Supervisor, progress: Progress, clock: Clock, *, patience: Patience
    ) -> None:
        self._supervisor = supervisor
        self._patience = patience
        self._progress = progress
        self._clock = clock
        self._told: set[str] = set()
        self.starting: set[str] = set()
        """Servers that have no process yet, or one that does not answer."""

    async def narrate(self) -> None:
        """Tell until cancelled, for as long as servers are started elsewhere."""
        while True:
            await self._look()
            await self._clock.sleep(LOOK_SECONDS)

    async def wait(self) -> str:
        """Until every process is ready; empty, or why no longer, and who is not ready and why."""
        wait = Wait(self._patience, now=self._clock.monotonic())
        while late := await self._look():
            over = wait.over(self._moved(late), now=self._clock.monotonic())
            if over:
                return f"{over}: " + "; ".join(f"{name}: {why}" for name, why in late.items())
            await self._clock.sleep(LOOK_SECONDS)
        return ""

    def _moved(self, late: dict[str, str]) -> tuple[tuple[str, str, int], ...]:
        """What changes while those who are late come nearer: their reasons and their logs."""
        logs = {member.name: size_of(member.log) for member in self._supervisor.members}
        return tuple((name, why, logs.get(name, 0)) for name, why in late.items())

    async def _look(self) -> dict[str, str]:
        """Tell who became ready; who is late and why."""
        members = [m for m in self._supervisor.members if m.name not in self._told]
        late = dict.fromkeys(sorted(self.starting), "starting")
        for member, why in zip(members, await _ask(members), strict=True):
            if why:
                late[member.name] = why
            else:
                self._told.add(member.name)
                self._tell(member)
        if late:
            self._progress.say_if_silent(f"waiting for {_summary(late)}")
        return late

    def _tell(self, member: Member) -> None:
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
    """The first few with their reasons, the others as a number."""
    shown = [f"{name} ({why[:REASON_LETTERS_MAX]})" for name, why in late.items()]
    more = len(shown) - LATE_SHOWN_MAX
    return ", ".join(shown[:LATE_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
