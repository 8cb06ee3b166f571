"""Ending a client of aiokafka in a bounded time, whatever it throws.

aiokafka cancels its own requests under way and waits for them, and what it gets then is a
cancellation that looks as if it were meant for whoever ends the client. A service whose loop ends of
that is up, ready, and reads nothing for ever. So an end is a task of its own.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

END_SECONDS_MAX: Final = 5.0
"""For a client to flush, leave its group and end; what hangs then is abandoned."""


async def end(ending: Coroutine[Any, Any, None]) -> None:
    """Run the end of a client; nothing of it is heard of here."""
    task = asyncio.ensure_future(ending)
    try:
        await asyncio.wait({task}, timeout=END_SECONDS_MAX)
    finally:
        task.cancel()
        task.add_done_callback(_take_note)


def _take_note(task: asyncio.Task[None]) -> None:
    """What it throws was about a connection that we let go of."""
    if not task.cancelled():
        task.exception()
