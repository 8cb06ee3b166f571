"""The queue of background steps of a cluster.

A real cluster runs these steps in the controller manager. Here the store's observers queue them,
and they run in FIFO order right after the current callback of the event loop. No task has to be
stopped at the end. On a virtual event loop the order is deterministic. Without a running loop the
steps wait until `run` is called.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

Step: TypeAlias = Callable[[], None]

STEPS_PER_TURN_MAX: Final = 200
"""Bounds the steps of one loop callback, so that collecting many objects does not block the loop.
"""
STEPS_MAX: Final = 5_000_000
"""Bound on the steps of one `run`. More steps mean that two steps trigger each other endlessly."""


class BackgroundSteps:
    """Queued steps, run in bounded batches on the event loop."""

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
            return  # no event loop yet: `run`, or the next `add` inside a loop, continues
        # One callback at a time is enough: it schedules the next one if steps are left.
        self._scheduled = True
        loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        try:
            # The batch size is fixed before the loop: steps that are added by a step run in the
            # next turn.
            for _ in range(min(STEPS_PER_TURN_MAX, len(self._steps))):
                self._steps.popleft()()
        finally:
            # A step that raises must not stop the steps behind it.
            self._schedule()

    def run(self) -> int:
        """Run all steps, including those added meanwhile, and return their number."""
        done = 0
        while self._steps:
            self._steps.popleft()()
            done += 1
            assert done < STEPS_MAX, "controllers trigger each other without an end"
        return done
