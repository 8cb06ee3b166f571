"""Keeps aiokafka from asking a broker that is away in circles.

A sender that holds a batch without a leader, and a fetcher of a log without one, ask for metadata, and
ask again the moment the attempt has failed. A broker that refuses connections fails it within a
millisecond: a process that was at work when its broker went away asked, and logged, thousands of times
a second, for a minute.
Here a failed attempt lasts at least as long as the client's own pause between retries.
"""

import asyncio
from typing import Any, Final

PAUSE_SECONDS: Final = 0.1
"""aiokafka's `retry_backoff_ms`, which is forgotten there."""


def pace_metadata(client: Any) -> None:
    """Let a failed metadata update of this client end only after a pause."""
    update = client._metadata_update  # noqa: SLF001 - aiokafka has no other place for it

    async def paced(*arguments: Any) -> bool:
        updated: bool = await update(*arguments)
        if not updated:
            await asyncio.sleep(PAUSE_SECONDS)
        return updated

    client._metadata_update = paced  # noqa: SLF001
