"""Notices what aiokafka does not tell.

A consumer whose topic was deleted asks for it for ever, and one whose connection was lost in a bad
moment may stand still for ever (aiokafka issues 703 and 1037), in some of its logs while others go on.
So from time to time somebody looks: are the topics there, and has each log that has more than we read
moved since?

Not every log that stands is stuck. While we are handed as much as we asked for, and while others catch
up by the thousand, a log may just wait for its turn, and a rebuild would make it wait longer; a member
would even begin all over. Such times do not count.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc_bus.errors import BusUnavailableError
from vc_bus.kafka.broker import Broker
from vc_clock import Clock
from vc_messages.record import TopicPartition

LOOK_SECONDS: Final = 1.0
"""How often the existence of topics is looked at."""
COMPARE_SECONDS: Final = 3.0
"""How often the ends of the logs are compared with our positions."""
STALL_SECONDS: Final = 6.0
"""A log with lag that has not moved for so long: the consumer is rebuilt."""
PATIENCE_DOUBLINGS_MAX: Final = 9
"""What a rebuild did not move gets twice the time before the next one, up to most of an hour: a log
whose last records were cleaned away ends beyond anything there is to read."""
CATCHING_UP_RECORDS: Final = 1000
"""A log that moves and lags by more is served before others."""


class _Place(msgspec.Struct, frozen=True):
    """Where we were in a log that had more than that, and since when."""

    offset: int
    since: float


class _Tried(msgspec.Struct, frozen=True):
    """Where a log stood when its consumer was rebuilt, and how often."""

    offset: int
    rebuilds: int


class Watchdog:
    """Over one consumer."""

    def __init__(self, clock: Clock, *, broker: Broker, topics: frozenset[str]) -> None:
        self.rebuilds = 0
        """How often a consumer was found standing still."""
        self._clock = clock
        self._broker = broker
        self._topics = topics
        self._looked_at = clock.monotonic()
        self._compared_at = clock.monotonic()
        self._excused_at = clock.monotonic()
        """No log has to have moved before this."""
        self._places: dict[TopicPartition, _Place] = {}
        """Of every log that had lag when last compared."""
        self._tried: dict[TopicPartition, _Tried] = {}
        """Logs that have not gone on since a rebuild for their sake."""

    def begin_anew(self) -> None:
        """The consumer is another, or has other logs: give it its time."""
        self._compared_at = self._clock.monotonic()
        self._places = {}

    def took(self, count: int, *, asked: int) -> None:
        """So many records came of so many asked for; if all, logs may wait for us to ask again."""
        if count >= asked:
            self._excused_at = self._clock.monotonic()

    async def look(self) -> None:
        """TopicMissingError when a topic is gone; a broker that is away is no news."""
        now = self._clock.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        try:
            await self._broker.check_there(self._topics)
        except BusUnavailableError:
            self._excused_at = now  # nobody moves while the broker is away

    def due(self) -> bool:
        """Whether it is time to compare positions with the ends."""
        return self._clock.monotonic() - self._compared_at >= COMPARE_SECONDS

    async def stalled(self, positions: Mapping[TopicPartition, int]) -> bool:
        """Whether a log has had something to read for too long and did not move; ask when due."""
        now = self._compared_at = self._clock.monotonic()
        if not positions:
            return False
        try:
            ends = await self._broker.ends(positions)
        except BusUnavailableError:
            self._excused_at = now
            return False
        lags = {at: end - positions[at] for at, end in ends.items() if end > positions[at]}
        if any(lag > CATCHING_UP_RECORDS for at, lag in lags.items() if self._moves(at, positions)):
            self._excused_at = now
        self._places = {at: self._place(at, positions[at], now=now) for at in lags}
        self._tried = {at: t for at, t in self._tried.items() if positions.get(at, 0) <= t.offset}
        stuck = [at for at, place in self._places.items() if self._is_stuck(at, place, now=now)]
        if not stuck:
            return False
        for at in stuck:
            self._tried[at] = _Tried(positions[at], self._rebuilds_at(at, positions[at]) + 1)
        self.rebuilds += 1
        self.begin_anew()
        return True

    def _moves(self, at: TopicPartition, positions: Mapping[TopicPartition, int]) -> bool:
        return at in self._places and self._places[at].offset != positions[at]

    def _place(self, at: TopicPartition, offset: int, *, now: float) -> _Place:
        known = self._places.get(at)
        return known if known is not None and known.offset == offset else _Place(offset, now)

    def _is_stuck(self, at: TopicPartition, place: _Place, *, now: float) -> bool:
        doublings = min(self._rebuilds_at(at, place.offset), PATIENCE_DOUBLINGS_MAX)
        return now - max(place.since, self._excused_at) >= STALL_SECONDS * (1 << doublings)

    def _rebuilds_at(self, at: TopicPartition, offset: int) -> int:
        tried = self._tried.get(at)
        return tried.rebuilds if tried is not None and tried.offset == offset else 0
