"""An event loop whose time jumps.

asyncio asks its selector to wait until the next timer is due. Here the selector does not wait: it
moves the loop's time forward by that much and returns at once. Nothing sleeps, the order of
callbacks is the order of their times, and a run of the whole in-memory stack is a function of its
seed. Real sockets and threads would bring real time back in, so a VirtualLoop refuses to wait for
them: when nothing is ready and no timer is set, the program can never go on, and it says so.
"""

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

T = TypeVar("T")

OVERSHOOT_SECONDS: Final = 1e-6
"""A timer fires a little late, as on a real loop. Firing a rounding error early would let a waiter
see its deadline not yet reached, wait for nothing, and spin at one moment for ever."""


class DeadlockError(RuntimeError):
    """Everything waits for something and nothing is scheduled."""


class _JumpingSelector(selectors.BaseSelector):
    """Registers nothing but the loop's own wake-up pipe; waiting moves time."""

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
    """Run `main` to its end on a fresh VirtualLoop, and leave no task behind."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
