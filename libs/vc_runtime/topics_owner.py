"""Whether the topics are our cluster's, for those who follow no facts: the plugins.

Members of another cluster would join the group of the right ones, take their requests, and answer them
with objects in the wrong cluster.
"""

from typing import Final

from vc_messages.codec import CodecError
from vc_messages.incarnations import foreign_owner, foreign_topics
from vc_messages.progress import progress_of
from vc_messages.record import TopicPartition
from vc_messages.topics import PROGRESS
from vc_runtime.cluster_uid import read_cluster_uid
from vc_runtime.context import Context

LOOK_SECONDS: Final = 30.0
"""Between two looks."""
TAIL_RECORDS: Final = 1000
"""From the end of `cluster.progress`: many rounds of a watcher that tells all kinds once a second."""


class TopicsOwner:
    """Asked before joining a group, and again now and then."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._look_at = float("-inf")
        self._said = ""

    async def foreign(self) -> str:
        """Why we must not take part; empty when the topics are ours, or nobody's yet.

        At most so many seconds old while they are ours. Raises what bus and cluster raise.
        """
        now = self._context.clock.monotonic()
        if now >= self._look_at or self._said:
            self._said = await self._look()
            self._look_at = now + LOOK_SECONDS
        return self._said

    async def _look(self) -> str:
        own = await read_cluster_uid(self._context)
        bus = self._context.bus
        start = (await bus.start_offsets(PROGRESS.name))[0]
        end = (await bus.end_offsets(PROGRESS.name))[0]
        at = TopicPartition(PROGRESS.name, 0)
        reader = await bus.reader({at: max(start, end - TAIL_RECORDS)})
        newest: dict[str, str] = {}
        try:
            while reader.positions()[at] < end:
                records = await reader.poll(max_records=TAIL_RECORDS, wait_seconds=1.0)
                if not records:
                    break
                for record in records:
                    try:
                        newest[record.key] = progress_of(record).stamp.incarnation
                    except CodecError:
                        continue
        finally:
            await reader.close()
        owner = foreign_owner(newest.values(), own=own)
        return foreign_topics(own=own, owner=owner) if owner else ""
