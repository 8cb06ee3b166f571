"""Waiting for something or for time to pass, whichever comes first; time is the Clock's."""

import asyncio

from vc_clock import Clock


def settle(waiter: asyncio.Future[None]) -> None:
    """Let whoever waits for it go on; settling twice does nothing."""
    if not waiter.done():
        waiter.set_result(None)


async def wait_until(waiter: asyncio.Future[None], *, clock: Clock, seconds: float) -> None:
    """Until the waiter is settled or the seconds have passed; the waiter tells which by `done`."""
    timer = asyncio.ensure_future(clock.sleep(seconds))
    timer.add_done_callback(lambda _: settle(waiter))
    try:
        await waiter
    finally:
        timer.cancel()
