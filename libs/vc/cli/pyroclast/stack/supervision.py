"""Supervises the processes of a stack: ended processes are restarted with exponential backoff.

One task per process waits for its end. Each end is reported in one line, and `stack.json` gets the
new process id. When the stack stops, the tasks are cancelled first, so that nothing is restarted.
Then the services are stopped together, and the rest in reverse order of their start.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final

from vc.cli.pyroclast.stack.members import Member
from vc.clock import Clock
from vc.model.faults import describe
from vc.model.values.backoff import delay_seconds
from vc.parts.errors import PartError

PAUSE_SECONDS_FIRST: Final = 0.25
PAUSE_SECONDS_MAX: Final = 15.0
HEALTHY_SECONDS: Final = 30.0
"""A process that ran for this time restarts with the shortest pause again."""

Say = Callable[[str], None]


class Supervisor:
    """Supervises the members of one stack."""

    def __init__(self, *, clock: Clock, say: Say, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._say = say
        self._changed = changed
        self._rng = random.Random()
        self._members: list[Member] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.restarts: dict[str, int] = {}
        self.started_at: dict[str, float] = {}
        """Wall clock time of the last start, by name."""

    @property
    def members(self) -> list[Member]:
        """The members in the order in which they were added."""
        return list(self._members)

    def take(self, member: Member) -> None:
        """Supervise a process that already runs."""
        self._members.append(member)
        self.restarts[member.name] = 0
        self.started_at[member.name] = self._clock.now()
        # One task per process: the pause of one must not delay the restart of another.
        self._tasks.append(asyncio.create_task(self._keep(member), name=f"keep-{member.name}"))
        self._changed()

    async def start(self, member: Member) -> None:
        """Start a process and supervise it."""
        await member.start()
        self.take(member)

    async def _keep(self, member: Member) -> None:
        failures = 0
        while True:
            started = self._clock.monotonic()
            how = await member.ended()
            # A crash after a long run is a new incident, not a crash loop.
            if self._clock.monotonic() - started > HEALTHY_SECONDS:
                failures = 0
            failures = await self._start_again(member, how, failures)

    async def _start_again(self, member: Member, how: str, failures: int) -> int:
        """Restart the process until it starts. Return the number of failures in a row."""
        while True:
            failures += 1
            pause = delay_seconds(
                failures,
                self._rng,
                first_seconds=PAUSE_SECONDS_FIRST,
                longest_seconds=PAUSE_SECONDS_MAX,
            )
            self._say(f"{member.name} {how}; started again in {pause:.1f} s, log: {member.log}")
            await self._clock.sleep(pause)
            try:
                await member.start()
            except (OSError, PartError) as error:
                # The report is one line; the rest of the error is the end of the log that it names.
                how = f"did not start ({describe(error).splitlines()[0]})"
                continue
            self.restarts[member.name] += 1
            self.started_at[member.name] = self._clock.now()
            self._changed()
            return failures

    async def stop(self) -> None:
        """Stop supervising, then stop all members: services first, the rest in reverse order."""
        # The tasks come first: they would restart the processes that are stopped below.
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        services = [member for member in self._members if member.role == "service"]
        # Together, because each may need seconds and none needs another one to stop.
        await asyncio.gather(*(member.stop() for member in services))
        # Services have ended by now. Servers must outlast what was started after them.
        for member in reversed(self._members):
            await member.stop()
