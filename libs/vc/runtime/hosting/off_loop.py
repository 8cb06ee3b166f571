"""Runs blocking work outside the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from vc.clock import VirtualLoop

P = ParamSpec("P")
T = TypeVar("T")


async def run_off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run in a worker thread. On a virtual loop run inline,
    because threads would depend on real time.
    """
    if isinstance(asyncio.get_running_loop(), VirtualLoop):
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
