"""Benchmarks on real servers: run when the servers can be had, and fail in one line.

A part that is absent is no failure: the sentence of `vc.parts` is printed, which says how to get it,
and the next benchmark runs. What breaks on the way (a server that does not start, a bound that
passes) is one line with its reason, and makes `python -m bench` end with 1.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence

from vc.bus import BusError
from vc.cluster import ClusterError
from vc.parts import PartError, require_or_skip_reason

LETTERS_MAX = 300
"""Of a reason: the end of a server's log belongs into the log."""


def run_on(
    parts: Sequence[str],
    measure: Callable[[], Coroutine[None, None, None]],
    *,
    name: str,
    seconds_max: float,
) -> bool:
    """Measure when all parts are there; False when it failed."""
    for part in parts:
        reason = require_or_skip_reason(part, own=True)
        if reason:
            print(f"\n{name}: not measured: {reason}", flush=True)
            return True
    try:
        asyncio.run(_bounded(measure, seconds_max=seconds_max))
    except (PartError, BusError, ClusterError, OSError) as error:
        said = str(error) or f"not over within {seconds_max:.0f} s"
        print(f"\n{name}: failed: {_line(said)}", flush=True)
        return False
    return True


async def _bounded(
    measure: Callable[[], Coroutine[None, None, None]], *, seconds_max: float
) -> None:
    async with asyncio.timeout(seconds_max):
        await measure()


def _line(text: str) -> str:
    return text.splitlines()[0][:LETTERS_MAX]


def load_average() -> float:
    """Of the last minute; printed with results, because a busy machine makes them worse."""
    return os.getloadavg()[0]
