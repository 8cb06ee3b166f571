"""Reads several logs in turn, and waits until one of them has new records.

A log notifies its followers when it grows, and a follower remembers which logs may have records.
The cost of a poll therefore depends on the records it returns, not on the number of logs, and no
polling loop is needed.
"""

import asyncio
from collections.abc import Mapping

from vc.bus.errors import OffsetGoneError, TopicMissingError
from vc.bus.memory.log import PartitionLog
from vc.bus.waiting import resolve, wait_until
from vc.clock import Clock
from vc.messages.record import Record, TopicPartition


class LogFollower:
    """Positions in logs, and the logs that may have more records."""

    def __init__(self, clock: Clock, *, reset_to_start: bool) -> None:
        """`reset_to_start`: continue at the log's start if it moved past our position,
        as groups do.
        """
        self.positions: dict[TopicPartition, int] = {}
        self.ready_at: float | None = None
        """When a delayed record becomes visible; None if none is known."""
        self._clock = clock
        self._reset_to_start = reset_to_start
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._ready: dict[TopicPartition, None] = {}
        self._waiter: asyncio.Future[None] | None = None

    def follow(self, logs: Mapping[PartitionLog, int]) -> None:
        """Read exactly these logs from these offsets; logs followed before are dropped."""
        self.let_go()
        for log, position in logs.items():
            self._logs[log.at] = log
            self.positions[log.at] = position
            # Every log may have records when it is first followed.
            self._ready[log.at] = None
            log.listeners[self] = None

    def let_go(self) -> None:
        """Stop following all logs."""
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
        """End a pending `wait` early."""
        if self._waiter is not None:
            resolve(self._waiter)

    def take(self, max_records: int) -> list[Record]:
        """The records that are readable now, one log after the other; sets `ready_at`."""
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
            # The log moves to the end of the order, so that no log starves the others.
            del self._ready[at]
            if batch.more_at is not None:
                self._ready[at] = None
                self.ready_at = min(batch.more_at, self.ready_at or batch.more_at)
        return records

    def _check(self, log: PartitionLog) -> None:
        """Raise if the log was deleted or no longer contains our position."""
        position = self.positions[log.at]
        if log.wiped:
            raise TopicMissingError(f"{log.at.topic} was deleted while it was read")
        if log.start <= position <= log.end:
            return
        # A view would miss records here. A group only repeats work, which is idempotent.
        if not self._reset_to_start:
            raise OffsetGoneError(
                f"{log.at.topic}[{log.at.partition}] has offsets {log.start} to {log.end}, "
                f"not {position}"
            )
        self.positions[log.at] = log.start

    async def wait(self, seconds: float) -> None:
        """Wait until a log changed, `wake` was called, or the time has passed."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await wait_until(self._waiter, clock=self._clock, seconds=seconds)
        finally:
            self._waiter = None
