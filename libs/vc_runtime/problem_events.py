"""Events on objects that stand left out, written by whoever may write.

Nothing is done while there is no problem row: the loop sleeps until the first comes.
"""

from collections.abc import Awaitable, Callable

from vc_runtime.context import Context
from vc_runtime.events import EventRecorder


async def _at_once() -> None:
    """Whoever shares no lease may always write events of its own objects."""


async def tell_problems(
    context: Context, *, until_may_write: Callable[[], Awaitable[None]] = _at_once
) -> None:
    """Until cancelled: each new problem row becomes one event on its object."""
    recorder = EventRecorder(context)
    while True:
        await context.problems.wait_for_untold()
        await until_may_write()
        for event in context.problems.take_untold():
            await recorder.record(event)
