"""Waits for a future or for time to pass, whichever comes first, by the Clock."""

import asyncio

from vc.clock import Clock


def resolve(waiter: asyncio.Future[None]) -> None:
    """Resolve the future; does nothing if it is done."""
    if not waiter.done():
        waiter.set_result(None)


async def wait_until(waiter: asyncio.Future[None], *, clock: Clock, seconds: float) -> None:
    """Wait until the future is done or the time has passed. Both resolve the future, so the caller
    must check its own condition afterwards.
    """
    timer = asyncio.ensure_future(clock.sleep(seconds))
    # The timer resolves the same future, so one await covers both cases.
    timer.add_done_callback(lambda _: resolve(waiter))
    try:
        await waiter
    finally:
        timer.cancel()
