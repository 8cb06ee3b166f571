"""The API server's clock, as this process knows it: its `Date` headers, carried by our monotonic clock.

Deadlines compare times that the API server wrote with the present. Taken from the machine's own clock,
the present of a replica that is an hour ahead ends a TTL of thirty minutes at once. Here it is derived
from the server itself: a `Date` of D in an answer that was asked for at `sent` and arrived at `received`
says that the server's clock stood in [D, D + 1) somewhere between these two moments, so

    D - received  <=  server time - monotonic time  <  D + 1 - sent

Each answer narrows the interval of the one before. `now` is its lower end: it is never ahead of the
server, so nothing expires early, and it is late by at most the width (a second after the first answer,
a few milliseconds once answers fell on both sides of a full second).

Answers that contradict the interval are not believed at once: a proxy may send any `Date`. When several
in a row over some time agree with one another and none agrees with the interval, the server's
clock was set, and we follow it.
"""

import math
from typing import Final

from vc_clock.clock import Clock

DRIFT_MAX: Final = 5e-4
"""By so much a second may differ between two machines; ntpd corrects at the same rate at most."""

CONFIRMATIONS: Final = 3
CONFIRMATION_SECONDS: Final = 2.0
"""Answers that agree on another time, and over how long, until it is believed."""

SMALL_STEP_SECONDS: Final = 2.0
"""A correction backwards up to this is waited out: `now` stands still. API servers of one control plane
differ by less. A larger one is a clock that was set, and `now` goes back with it."""

WALL_SECONDS: Final = 1.0
"""A machine's clock that differs by less is right enough to tell how long things took."""

DATE_MIN: Final = 946_684_800.0
DATE_MAX: Final = 253_402_300_800.0
"""The years 2000 to 9999: what is outside is no time that an API server could have."""


class _Interval:
    """What is known of server time minus monotonic time; it widens as our clocks may drift apart."""

    __slots__ = ("at", "high", "low")

    def __init__(self, low: float, high: float, at: float) -> None:
        self.low, self.high, self.at = low, high, at

    def low_at(self, moment: float) -> float:
        return self.low - max(0.0, moment - self.at) * DRIFT_MAX

    def high_at(self, moment: float) -> float:
        return self.high + max(0.0, moment - self.at) * DRIFT_MAX

    def narrowed(self, low: float, high: float, at: float) -> "_Interval | None":
        """The part that both have in common; None when they contradict each other."""
        low, high = max(low, self.low_at(at)), min(high, self.high_at(at))
        return _Interval(low, high, max(at, self.at)) if low <= high else None


class ServerClock:
    """A `Clock` whose `now` is the API server's; sleeping and time-outs stay our own."""

    def __init__(self, own: Clock) -> None:
        self._own = own
        self._known: _Interval | None = None
        self._other: _Interval | None = None
        """What answers say that contradict `_known`."""
        self._other_count = 0
        self._other_since = 0.0
        self._told = -math.inf
        """The latest `now` that was given out."""
        self.observed_at = -math.inf
        """When an answer last agreed with what is known; monotonic."""
        self.steps = 0
        """How often the server's clock was found to be set."""
        self.moved_seconds = 0.0
        """By how much in all: who keeps times of this clock in memory adds the difference to them."""
        self.ignored = 0
        """Dates that were no time, or that contradicted what is known."""

    @property
    def known(self) -> bool:
        """Whether the server has answered; before that `now` is the machine's clock."""
        return self._known is not None

    @property
    def doubted(self) -> bool:
        """Whether the latest answers contradict what is known."""
        return self._other is not None

    @property
    def width_seconds(self) -> float:
        """By how much `now` may be late; infinite while nothing is known."""
        if self._known is None:
            return math.inf
        moment = self._own.monotonic()
        return self._known.high_at(moment) - self._known.low_at(moment)

    @property
    def ahead_seconds(self) -> float:
        """By how much the machine's clock is ahead of the API server's; 0 while that is unknown."""
        return self._own.now() - self.now() if self._known is not None else 0.0

    def now(self) -> float:
        if self._known is None:
            return self._own.now()
        moment = self._own.monotonic()
        estimate = moment + self._known.low_at(moment)
        if estimate < self._told <= estimate + SMALL_STEP_SECONDS:
            return self._told
        self._told = estimate
        return estimate

    def wall(self) -> float:
        """The machine's clock while it agrees with the server's; the middle of what is known otherwise.

        Spans of one process are milliseconds long, finer than what is known of the server's clock.
        """
        own = self._own.wall()
        if self._known is None:
            return own
        moment = self._own.monotonic()
        low, high = moment + self._known.low_at(moment), moment + self._known.high_at(moment)
        return own if low - WALL_SECONDS <= own <= high + WALL_SECONDS else (low + high) / 2

    def monotonic(self) -> float:
        return self._own.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._own.sleep(seconds)

    def observe(self, date: float, *, sent: float, received: float) -> None:
        """An answer with this `Date`, in seconds since the epoch; the moments are monotonic."""
        if not (DATE_MIN <= date < DATE_MAX and sent <= received):
            self.ignored += 1
            return
        low, high = date - received, date + 1 - sent
        if self._known is None:
            self._believe(_Interval(low, high, received))
            return
        narrowed = self._known.narrowed(low, high, received)
        if narrowed is not None:
            self._believe(narrowed)
        else:
            self.ignored += 1
            self._doubt(low, high, received)

    def trust_own(self) -> None:
        """The server sends no dates: go on from the machine's clock as it is now, without its later steps."""
        if self._known is None:
            moment = self._own.monotonic()
            offset = self._own.now() - moment
            self._believe(_Interval(offset, offset, moment))

    def next_edge(self) -> float:
        """The next moment, monotonic, at which an answer halves what is uncertain: there the server's
        clock comes to a full second if it is in the middle of the interval."""
        moment = self._own.monotonic()
        if self._known is None:
            return moment
        middle = (self._known.low_at(moment) + self._known.high_at(moment)) / 2
        return math.ceil(moment + middle) - middle

    def _believe(self, interval: _Interval) -> None:
        self._known, self._other, self._other_count = interval, None, 0
        self.observed_at = interval.at

    def _doubt(self, low: float, high: float, at: float) -> None:
        agreed = self._other.narrowed(low, high, at) if self._other is not None else None
        if agreed is None:
            self._other, self._other_count, self._other_since = _Interval(low, high, at), 1, at
            return
        self._other, self._other_count = agreed, self._other_count + 1
        if self._other_count >= CONFIRMATIONS and at - self._other_since >= CONFIRMATION_SECONDS:
            assert self._known is not None
            self.steps += 1
            self.moved_seconds += agreed.low - self._known.low_at(at)
            self._believe(agreed)
