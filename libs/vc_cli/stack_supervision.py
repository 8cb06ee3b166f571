"""Keeps the processes of a stack alive: what dies is started again, with growing pauses.

One task a process waits for its end. A death is one line; `stack.json` gets the new process id. When
the stack goes down the tasks end first, so that nothing is started again behind our back, then the
processes: services together, then the rest in the reverse order of their start.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final

from vc_cli.stack_members import Member
from vc_clock import Clock
from vc_model.faults import describe
from vc_parts.errors import PartError
from vc_runtime.backoff import delay_seconds

PAUSE_SECONDS_FIRST: Final = 0.25
PAUSE_SECONDS_MAX: Final = 15.0
HEALTHY_SECONDS: Final = 30.0
"""A process that ran this long starts from the shortest pause again."""

Say = Callable[[str], None]


class Supervisor:
    """Holds the members of one stack."""

    def __init__(self, *, clock: Clock, say: Say, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._say = say
        self._changed = changed
        self._chance = random.Random()
        self._members: list[Member] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.restarts: dict[str, int] = {}
        self.started_at: dict[str, float] = {}
        """Wall time of the last start, by name."""

    @property
    def members(self) -> list[Member]:
        """In the order in which they were taken."""
        return list(self._members)

    def take(self, member: Member) -> None:
        """Keep a process that runs already."""
        self._members.append(member)
        self.restarts[member.name] = 0
        self.started_at[member.name] = self._clock.now()
        self._tasks.append(asyncio.create_task(self._keep(member), name=f"keep-{member.name}"))
        self._changed()

    async def start(self, member: Member) -> None:
        """Start a process, then keep it."""
        await member.start()
        self.take(member)

    async def _keep(self, member: Member) -> None:
        failures = 0
        while True:
            started = self._clock.monotonic()
            how = await member.ended()
            if self._clock.monotonic() - started > HEALTHY_SECONDS:
                failures = 0
            failures = await self._start_again(member, how, failures)

    async def _start_again(self, member: Member, how: str, failures: int) -> int:
        """Until it starts; how often it failed in a row."""
        while True:
            failures += 1
            pause = delay_seconds(
                failures,
                self._chance,
                first_seconds=PAUSE_SECONDS_FIRST,
                longest_seconds=PAUSE_SECONDS_MAX,
            )
            self._say(f"{member.name} {how}; started again in {pause:.1f} s, log: {member.log}")
            await self._clock.sleep(pause)
            try:
                await member.start()
            except (OSError, PartError) as error:
                how = f"did not start ({describe(error).splitlines()[0]})"
                continue
            self.restarts[member.name] += 1
            self.started_at[member.name] = self._clock.now()
            self._changed()
            return failures

    async def stop(self) -> None:
        """End everything that was taken."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        services = [member for member in self._members if member.role == "service"]
        await asyncio.gather(*(member.stop() for member in services))
        for member in reversed(self._members):
            await member.stop()
