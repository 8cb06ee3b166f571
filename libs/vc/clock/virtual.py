"""An event loop with virtual time.

asyncio lets its selector wait until the next timer is due. Here the selector does not wait: it
advances the loop's time by that amount and returns at once. Callbacks run in the order of their
times, and a run of the whole in-memory stack depends only on its seed. Real sockets and threads
would depend on real time, so a VirtualLoop does not wait for them. If nothing is ready and no timer
is set, the program can never continue, and DeadlockError is raised.
"""

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

T = TypeVar("T")

OVERSHOOT_SECONDS: Final = 1e-6
"""A timer fires slightly late, as on a real loop. If it fired early by a rounding error, a waiter
would see that its deadline is not reached, wait for zero seconds, and loop at one moment forever.
"""


class DeadlockError(RuntimeError):
    """All tasks wait, and no timer is set."""


class _JumpingSelector(selectors.BaseSelector):
    """Registers only the loop's own wake-up pipe; waiting advances the time."""

    def __init__(self) -> None:
        self.time_seconds = 0.0
        self._real = selectors.SelectSelector()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # asyncio passes None if there is no timer, and real I/O does not exist here.
        if timeout is None:
            raise DeadlockError("every task waits and no timer is set: the run can never go on")
        if timeout > 0:
            self.time_seconds += timeout + OVERSHOOT_SECONDS
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that starts at time 0 and never sleeps."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.time_seconds


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to completion on a new VirtualLoop, and leave no task behind."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
