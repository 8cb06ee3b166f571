"""Closes an aiokafka client within a bounded time, whatever it raises.

aiokafka cancels its own pending requests and awaits them, which can raise a CancelledError that
looks as if the caller had been cancelled. A service loop that ended because of it would leave the
process up and ready without reading anything. Therefore closing runs in its own task.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

END_SECONDS_MAX: Final = 5.0
"""Time limit for a client to flush, leave its group and close; afterwards it is abandoned."""


async def end(ending: Coroutine[Any, Any, None]) -> None:
    """Run the closing of a client; its exceptions are not propagated."""
    task = asyncio.ensure_future(ending)
    try:
        await asyncio.wait({task}, timeout=END_SECONDS_MAX)
    finally:
        task.cancel()
        task.add_done_callback(_take_note)


def _take_note(task: asyncio.Task[None]) -> None:
    """Retrieve the exception, which concerns a connection we no longer use,
    so that asyncio does not log it.
    """
    if not task.cancelled():
        task.exception()
