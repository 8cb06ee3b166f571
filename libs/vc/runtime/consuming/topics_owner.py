"""Checks that the topics belong to our cluster, for services that follow no facts: job plugins.

Members from another cluster would join the consumer group, receive its requests, and answer them
with objects in the wrong cluster.
"""

from typing import Final

from vc.messages.codec import CodecError
from vc.messages.incarnations import foreign_owner, foreign_topics
from vc.messages.progress import progress_of
from vc.messages.record import TopicPartition
from vc.messages.topics import PROGRESS
from vc.runtime.hosting.cluster_uid import read_cluster_uid
from vc.runtime.hosting.context import Context

LOOK_SECONDS: Final = 30.0
"""Interval between two checks."""
TAIL_RECORDS: Final = 1000
"""Number of records read from the end of `cluster.progress`: many rounds of a watcher that
publishes all kinds once a second.
"""


class TopicsOwner:
    """Checked before joining a group, and periodically afterwards."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._look_at = float("-inf")
        self._said = ""

    async def foreign(self) -> str:
        """The reason why we must not take part; empty if the topics are ours or have no owner yet.

        A positive result is cached for `LOOK_SECONDS`. Raises what bus and cluster raise.
        """
        now = self._context.clock.monotonic()
        # While the topics are foreign check every time, so that we join soon after a correction.
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
