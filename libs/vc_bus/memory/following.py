"""Reading several logs in turn, and sleeping until one of them has something.

A log tells its followers that it grew; a follower remembers which logs may have something to read.
So a poll costs what it returns, not the number of logs, and nobody looks again and again.
"""

import asyncio
from collections.abc import Mapping

from vc_bus.errors import OffsetGoneError, TopicMissingError
from vc_bus.memory.log import PartitionLog
from vc_bus.waiting import settle, wait_until
from vc_clock import Clock
from vc_messages.record import Record, TopicPartition


class Follower:
    """Positions in logs, and which of the logs may have more."""

    def __init__(self, clock: Clock, *, reset_to_start: bool) -> None:
        """`reset_to_start`: go on at the log's start when it has moved past us, as groups do."""
        self.positions: dict[TopicPartition, int] = {}
        self.ready_at: float | None = None
        """When a record that is still under way will be visible; None when none is known."""
        self._clock = clock
        self._reset_to_start = reset_to_start
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._ready: dict[TopicPartition, None] = {}
        self._waiter: asyncio.Future[None] | None = None

    def follow(self, logs: Mapping[PartitionLog, int]) -> None:
        """Read exactly these logs from these offsets; whatever was followed before is let go."""
        self.let_go()
        for log, position in logs.items():
            self._logs[log.at] = log
            self.positions[log.at] = position
            self._ready[log.at] = None
            log.listeners[self] = None

    def let_go(self) -> None:
        """Follow nothing."""
        for log in self._logs.values():
            log.listeners.pop(self, None)
        self._logs.clear()
        self._ready.clear()
        self.positions.clear()
        self.wake()

    def log_changed(self, at: TopicPartition) -> None:
        self._ready[at] = None
        self.wake()

    def wake(self) -> None:
        """End a wait."""
        if self._waiter is not None:
            settle(self._waiter)

    def take(self, max_records: int) -> list[Record]:
        """What can be read now, each log in turn; sets `ready_at`."""
        now = self._clock.monotonic()
        records: list[Record] = []
        self.ready_at = None
        for at in list(self._ready):
            if len(records) >= max_records:
                self.ready_at = now
                break
            log = self._logs[at]
            self._check(log)
            batch = log.read(self.positions[at], limit=max_records - len(records), now=now)
            records += batch.records
            self.positions[at] = batch.position
            del self._ready[at]
            if batch.more_at is not None:
                self._ready[at] = None
                self.ready_at = min(batch.more_at, self.ready_at or batch.more_at)
        return records

    def _check(self, log: PartitionLog) -> None:
        """Whether the log is still the one we were reading."""
        position = self.positions[log.at]
        if log.wiped:
            raise TopicMissingError(f"{log.at.topic} was deleted while it was read")
        if log.start <= position <= log.end:
            return
        if not self._reset_to_start:
            raise OffsetGoneError(
                f"{log.at.topic}[{log.at.partition}] has offsets {log.start} to {log.end}, "
                f"not {position}"
            )
        self.positions[log.at] = log.start

    async def wait(self, seconds: float) -> None:
        """Until a log changed, or somebody woke us, or the seconds have passed."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await wait_until(self._waiter, clock=self._clock, seconds=seconds)
        finally:
            self._waiter = None
