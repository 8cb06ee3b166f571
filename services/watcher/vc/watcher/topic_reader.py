"""Reads a topic up to the end offsets at the time of the call."""

from collections.abc import AsyncIterator
from typing import Final

from vc.bus import Bus
from vc.messages.record import Record, TopicPartition

READ_BACK_RECORDS_MAX: Final = 5000


async def read_to_end(
    bus: Bus, topic: str, ends: list[int], *, starts: list[int] | None = None
) -> AsyncIterator[list[Record]]:
    """Yield all records of a topic below `ends`, from `starts` or from the beginning."""
    starts = starts or await bus.start_offsets(topic)
    left = {p for p, end in enumerate(ends) if starts[p] < end}
    if not left:
        return
    reader = await bus.reader({TopicPartition(topic, p): starts[p] for p in left})
    try:
        while left:
            batch = await reader.poll(max_records=READ_BACK_RECORDS_MAX, wait_seconds=1.0)
            yield [r for r in batch if r.offset < ends[r.partition]]
            reached = reader.positions()
            left = {p for p in left if reached[TopicPartition(topic, p)] < ends[p]}
    finally:
        await reader.close()
