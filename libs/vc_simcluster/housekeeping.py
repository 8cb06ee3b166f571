"""The background work of a cluster, as one queue of small steps.

A real cluster has a controller manager for this. Here observers of the store note what has to be
done, and the steps run right after the current callback of the event loop: soon, in order, without
a task that somebody would have to stop. On a virtual loop this is deterministic; without a loop the
steps wait until `run` is called.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

Step: TypeAlias = Callable[[], None]

STEPS_PER_TURN_MAX: Final = 200
"""So that collecting ten thousand objects does not hold up everybody else."""
STEPS_MAX: Final = 5_000_000
"""Of one `run`: more means that two steps chase each other."""


class Housekeeping:
    """Steps that wait, and the turn in which they run."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._scheduled = False

    def add(self, step: Step) -> None:
        self._steps.append(step)
        self._schedule()

    def _schedule(self) -> None:
        if self._scheduled or not self._steps:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # nobody runs yet: `run`, or the next step added inside a loop, catches up
        self._scheduled = True
        loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        try:
            for _ in range(min(STEPS_PER_TURN_MAX, len(self._steps))):
                self._steps.popleft()()
        finally:
            self._schedule()

    def run(self) -> int:
        """Run until nothing is left; says how many steps that took."""
        done = 0
        while self._steps:
            self._steps.popleft()()
            done += 1
            assert done < STEPS_MAX, "housekeeping does not come to an end"
        return done
