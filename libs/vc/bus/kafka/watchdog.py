"""Detects deleted topics and stalled consumers, which aiokafka does not report.

A consumer requests a deleted topic forever. A consumer whose connection was lost at a bad moment
may stall forever (aiokafka issues 703 and 1037), in some logs while others advance. Therefore the
watchdog checks periodically whether the topics exist, and whether each log with lag has advanced.

A log that does not advance is not always stuck. While a poll returns as many records as requested,
or while other logs catch up by thousands of records, a log may only wait for its turn. A rebuild
would delay it further, and a member would even start from the beginning. Such periods do not count.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.bus.errors import BusUnavailableError
from vc.bus.kafka.broker import Broker
from vc.clock import Clock
from vc.messages.record import TopicPartition
from vc.model.values.backoff import exponential_seconds

LOOK_SECONDS: Final = 1.0
"""Interval of the check that topics exist."""
COMPARE_SECONDS: Final = 3.0
"""Interval of the comparison of positions with the ends of logs."""
STALL_SECONDS: Final = 6.0
"""If a log with lag does not advance for this time, the consumer is rebuilt."""
STALL_SECONDS_MAX: Final = STALL_SECONDS * 2**9
"""If a rebuild does not help, the time limit doubles, up to most of an hour. This happens for a log
whose last records were cleaned away: its end is beyond anything that can be read.
"""
CATCHING_UP_RECORDS: Final = 1000
"""A log that advances and has more lag than this is served before others."""


class _Lagging(msgspec.Struct, frozen=True):
    """Our offset in a log with lag, and since when."""

    offset: int
    since: float


class _Tried(msgspec.Struct, frozen=True):
    """The offset of a log when its consumer was rebuilt, and the number of rebuilds."""

    offset: int
    rebuilds: int


class Watchdog:
    """Watches the topics and the advance of one consumer."""

    def __init__(self, clock: Clock, *, broker: Broker, topics: frozenset[str]) -> None:
        self.rebuilds = 0
        """Number of times that the consumer was found stalled."""
        self._clock = clock
        self._broker = broker
        self._topics = topics
        self._looked_at = clock.monotonic()
        self._compared_at = clock.monotonic()
        self._excused_at = clock.monotonic()
        """Time before this does not count as stalled."""
        self._lagging: dict[TopicPartition, _Lagging] = {}
        """The positions of all logs that had lag at the last comparison."""
        self._tried: dict[TopicPartition, _Tried] = {}
        """Logs that have not advanced since a rebuild because of them."""

    def restart_consumer(self) -> None:
        """Reset the timers, because the consumer is new or has other logs."""
        self._compared_at = self._clock.monotonic()
        # Positions of the former consumer would make the new one look stalled at once.
        self._lagging = {}

    def took(self, count: int, *, requested: int) -> None:
        """Record the size of a poll. If it was full, logs may only wait for the next poll."""
        # A full poll leaves records behind on purpose, which says nothing about a log.
        if count >= requested:
            self._excused_at = self._clock.monotonic()

    async def look(self) -> None:
        """Raises TopicMissingError if a topic was deleted; an unreachable broker is ignored."""
        now = self._clock.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        # Before the query, so that an unreachable broker is not queried again by every poll.
        self._looked_at = now
        try:
            await self._broker.check_there(self._topics)
        except BusUnavailableError:
            self._excused_at = now  # no log advances while the broker is unreachable

    def due(self) -> bool:
        """Whether the next comparison is due."""
        return self._clock.monotonic() - self._compared_at >= COMPARE_SECONDS

    async def stalled(self, positions: Mapping[TopicPartition, int]) -> bool:
        """Whether a log with lag has not advanced for too long. Call it when `due`."""
        now = self._compared_at = self._clock.monotonic()
        if not positions:
            return False
        try:
            ends = await self._broker.ends(positions)
        except BusUnavailableError:
            self._excused_at = now
            return False
        lags = {at: end - positions[at] for at, end in ends.items() if end > positions[at]}
        # While one log catches up, others may wait for their turn without being stuck.
        if any(lag > CATCHING_UP_RECORDS for at, lag in lags.items() if self._moves(at, positions)):
            self._excused_at = now
        # Logs without lag are left out, so that a later lag is timed from its own beginning.
        self._lagging = {at: self._place(at, positions[at], now=now) for at in lags}
        # A log that advanced after its rebuild gets the normal time limit again.
        self._tried = {at: t for at, t in self._tried.items() if positions.get(at, 0) <= t.offset}
        stuck = [at for at, place in self._lagging.items() if self._is_stuck(at, place, now=now)]
        if not stuck:
            return False
        # Count the rebuild per log, so that a log it does not help gets more time.
        for at in stuck:
            self._tried[at] = _Tried(positions[at], self._rebuilds_at(at, positions[at]) + 1)
        self.rebuilds += 1
        self.restart_consumer()
        return True

    def _moves(self, at: TopicPartition, positions: Mapping[TopicPartition, int]) -> bool:
        return at in self._lagging and self._lagging[at].offset != positions[at]

    def _place(self, at: TopicPartition, offset: int, *, now: float) -> _Lagging:
        known = self._lagging.get(at)
        # The time is kept only while the offset is the same: any advance proves that it is read.
        return known if known is not None and known.offset == offset else _Lagging(offset, now)

    def _is_stuck(self, at: TopicPartition, place: _Lagging, *, now: float) -> bool:
        # A log whose last records were cleaned away never reaches its end. With a fixed limit it
        # would cause a rebuild every few seconds, and a member reads from the beginning after each.
        limit = exponential_seconds(
            self._rebuilds_at(at, place.offset) + 1,
            first_seconds=STALL_SECONDS,
            longest_seconds=STALL_SECONDS_MAX,
        )
        # A log must stand still for the whole limit after the last excuse, not in sum.
        return now - max(place.since, self._excused_at) >= limit

    def _rebuilds_at(self, at: TopicPartition, offset: int) -> int:
        tried = self._tried.get(at)
        return tried.rebuilds if tried is not None and tried.offset == offset else 0
