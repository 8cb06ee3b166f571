"""Writes events on objects that are left out.

The loop sleeps while there is no problem row.
"""

from collections.abc import Awaitable, Callable

from vc.runtime.applying.events import EventRecorder
from vc.runtime.hosting.context import Context


async def _at_once() -> None:
    """The default for services without a lease,
    which may always write events on their own objects.
    """


async def report_problems(
    context: Context, *, until_may_write: Callable[[], Awaitable[None]] = _at_once
) -> None:
    """Write one event on its object for each new problem row, until cancelled."""
    recorder = EventRecorder(context)
    while True:
        await context.problems.wait_for_unwritten()
        await until_may_write()
        for event in context.problems.take_unwritten():
            await recorder.record(event)
