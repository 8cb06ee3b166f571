"""Skips a test whose part is not here; shared by the tests of this folder."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from vc.parts import require_or_skip_reason

WAIT_SECONDS_MAX = 30.0
POLL_SECONDS = 0.1


def require(*parts: str, own: bool = False) -> None:
    """Goes on when all parts can be used now (or started, for `own`), else skips with the reason."""
    for part in parts:
        reason = require_or_skip_reason(part, own=own)
        if reason:
            pytest.skip(reason)


async def eventually(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Waits for what the server does in its own time."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS_MAX
    while not await holds():
        if asyncio.get_running_loop().time() > deadline:
            pytest.fail(f"not within {WAIT_SECONDS_MAX:.0f} s: {what}")
        await asyncio.sleep(POLL_SECONDS)
