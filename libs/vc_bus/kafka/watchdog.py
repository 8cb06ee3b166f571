"""Notices what aiokafka does not tell.

A consumer whose topic was deleted asks for it for ever, and one whose connection was lost in a bad
moment may stand still for ever (aiokafka issues 703 and 1037). So from time to time somebody looks:
are the topics there, and if nothing came for a while, is there nothing, or do we just not get it?
"""

from collections.abc import Mapping
from typing import Final

from vc_bus.errors import BusUnavailableError
from vc_bus.kafka.broker import Broker
from vc_clock import Clock
from vc_messages.record import TopicPartition

LOOK_SECONDS: Final = 1.0
"""How often the existence of topics is looked at."""
SILENCE_SECONDS: Final = 3.0
"""After so long without a record the ends of the logs are compared with our positions."""
STALL_SECONDS: Final = 6.0
"""Lag and no progress for so long: the consumer is rebuilt."""


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
        self._moved_at = clock.monotonic()
        self._lagging: dict[TopicPartition, int] = {}
        """Logs that had more than we read, with where we stood."""

    def moved(self) -> None:
        """Records came."""
        self._moved_at = self._clock.monotonic()
        self._lagging = {}

    async def look(self) -> None:
        """TopicMissingError when a topic is gone; a broker that is away is no news."""
        now = self._clock.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        try:
            await self._broker.check_there(self._topics)
        except BusUnavailableError:
            self._moved_at = now  # nobody moves while the broker is away

    def silent(self) -> bool:
        """Whether it is time to compare positions with the ends."""
        now = self._clock.monotonic()
        return min(now - self._moved_at, now - self._compared_at) >= SILENCE_SECONDS

    async def stalled(self, positions: Mapping[TopicPartition, int]) -> bool:
        """Whether there is something to read and nothing came for too long; ask when silent."""
        now = self._clock.monotonic()
        silence = now - self._moved_at
        self._compared_at = now
        if not positions:
            return False
        try:
            ends = await self._broker.ends(positions)
        except BusUnavailableError:
            self._moved_at = now
            return False
        lagging = {at: offset for at, offset in positions.items() if ends.get(at, 0) > offset}
        same = bool(lagging) and any(self._lagging.get(at) == lagging[at] for at in lagging)
        self._lagging = lagging
        if not same or silence < STALL_SECONDS:
            return False
        self.rebuilds += 1
        self.moved()
        return True
