"""Prevents aiokafka from querying an unreachable broker in a tight loop.

A sender with a batch without a leader, and a fetcher of a log without one, request metadata and
repeat the request as soon as it fails. A broker that refuses connections fails it within a
millisecond. A busy process whose broker went down therefore sent and logged thousands of requests a
second for a minute. Here a failed attempt lasts at least as long as the client's own retry backoff.
"""

import asyncio
from typing import Any, Final

PAUSE_SECONDS: Final = 0.1
"""The value of aiokafka's `retry_backoff_ms`, which aiokafka does not apply here."""


def pace_metadata(client: Any) -> None:
    """Delay the end of a failed metadata update of this client."""
    update = client._metadata_update  # noqa: SLF001 - aiokafka has no other place for it

    async def paced(*arguments: Any) -> bool:
        updated: bool = await update(*arguments)
        if not updated:
            await asyncio.sleep(PAUSE_SECONDS)
        return updated

    client._metadata_update = paced  # noqa: SLF001
