"""Work that would hold up the event loop, done beside it."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from vc_clock import VirtualLoop

P = ParamSpec("P")
T = TypeVar("T")


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """In a worker thread; on a virtual loop inline, since threads would bring real time in."""
    if isinstance(asyncio.get_running_loop(), VirtualLoop):
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
