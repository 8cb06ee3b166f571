"""The API server's clock, derived from its `Date` headers and our monotonic clock.

Deadlines compare times that the API server wrote with the current time. With the machine's own
clock, a replica that is an hour ahead would end a TTL of thirty minutes at once. Here the current
time is derived from the server. A `Date` of D, in a response that was requested at `sent` and
arrived at `received`, means that the server's clock was in [D, D + 1) at some moment between the
two. Therefore

    D - received  <=  server time - monotonic time  <  D + 1 - sent

Each response narrows the interval. `now` is its lower end: it is never ahead of the server, so
nothing expires early, and it is late by at most the width (a second after the first response, a few
milliseconds after responses on both sides of a full second). The creationTimestamp of an object
that we have read is a lower bound as well: the server's clock had reached it. So a time that is
written to the status of an object is never before the object's creation.

A response that contradicts the interval is not accepted at once, because a proxy may send any
`Date`. If several successive responses over some time agree with each other and none agrees with
the interval, the server's clock was set, and we follow it.
"""

import math
from typing import Final

from vc.clock.clock import Clock

DRIFT_MAX: Final = 5e-4
"""Maximum relative drift between two machines' clocks;
ntpd corrects clocks at most at this rate.
"""

CONFIRMATIONS: Final = 3
CONFIRMATION_SECONDS: Final = 2.0
"""How many responses must agree on another time, and over how long, until it is accepted."""

SMALL_STEP_SECONDS: Final = 2.0
"""For a backward correction up to this, `now` stands still until it is caught up; API servers of
one control plane differ by less. A larger one means that the clock was set, and `now` goes back
with it.
"""

WALL_SECONDS: Final = 1.0
"""A machine's clock that differs by less is accurate enough for measuring durations."""

ROUNDING_SECONDS: Final = 1e-6
"""More than the rounding error of a sum near today's epoch seconds, and less than any response
takes. Without it, a time that must not be before a full second could be rounded down below it.
"""

DATE_MIN: Final = 946_684_800.0
DATE_MAX: Final = 253_402_300_800.0
"""The years 2000 to 9999; dates outside are not a valid time of an API server."""


class _Interval:
    """Bounds of server time minus monotonic time;
    they widen over time, because clocks may drift.
    """

    __slots__ = ("at", "high", "low")

    def __init__(self, low: float, high: float, at: float) -> None:
        self.low, self.high, self.at = low, high, at

    def low_at(self, moment: float) -> float:
        # Responses may be recorded out of order; an earlier moment must not narrow the interval.
        return self.low - max(0.0, moment - self.at) * DRIFT_MAX

    def high_at(self, moment: float) -> float:
        return self.high + max(0.0, moment - self.at) * DRIFT_MAX

    def narrowed(self, low: float, high: float, at: float) -> "_Interval | None":
        """The intersection of both intervals; None if they contradict each other."""
        low, high = max(low, self.low_at(at)), min(high, self.high_at(at))
        return _Interval(low, high, max(at, self.at)) if low <= high else None


class ServerClock:
    """A `Clock` whose `now` is the API server's time; sleep and time-outs use our own clock."""

    def __init__(self, own: Clock) -> None:
        self._own = own
        self._known: _Interval | None = None
        self._other: _Interval | None = None
        """The interval of responses that contradict `_known`."""
        self._other_count = 0
        self._other_since = 0.0
        self._latest = -math.inf
        """The latest value that `now` returned."""
        self.observed_at = -math.inf
        """Monotonic time of the last response that agreed with the interval."""
        self.steps = 0
        """How often the server's clock was found to be set."""
        self.moved_seconds = 0.0
        """The sum of these steps; code that keeps times of this
        clock in memory adds the difference to them.
        """
        self.ignored = 0
        """Number of dates that were invalid or contradicted the interval."""

    @property
    def known(self) -> bool:
        """Whether the server's time is known; before that `now` is the machine's clock."""
        return self._known is not None

    @property
    def doubted(self) -> bool:
        """Whether the latest responses contradict the interval."""
        return self._other is not None

    @property
    def width_seconds(self) -> float:
        """The maximum delay of `now` behind the server; infinite while nothing is known."""
        if self._known is None:
            return math.inf
        moment = self._own.monotonic()
        return self._known.high_at(moment) - self._known.low_at(moment)

    @property
    def ahead_seconds(self) -> float:
        """By how much the machine's clock is ahead of the API server's; 0 while unknown."""
        return self._own.now() - self.now() if self._known is not None else 0.0

    def now(self) -> float:
        if self._known is None:
            return self._own.now()
        moment = self._own.monotonic()
        estimate = moment + self._known.low_at(moment)
        # Time must not run backwards for small corrections: durations would become negative.
        if estimate < self._latest <= estimate + SMALL_STEP_SECONDS:
            return self._latest
        self._latest = estimate
        return estimate

    def wall(self) -> float:
        """The machine's clock if it agrees with the server's, otherwise the middle of the interval.

        Spans within a process are milliseconds long, which is finer than the interval.
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
        """Record a response with this `Date`, in seconds since the Unix epoch; `sent` and
        `received` are monotonic.
        """
        # A date outside this range would move every deadline.
        if not (DATE_MIN <= date < DATE_MAX and sent <= received):
            self.ignored += 1
            return
        # Both ends assume the worst: the server wrote the date at any moment of the request, and
        # cut off the fraction of its second.
        low, high = date - received, date + 1 - sent
        if self._known is None:
            self._accept(_Interval(low, high, received))
            return
        narrowed = self._known.narrowed(low, high, received)
        if narrowed is not None:
            self._accept(narrowed)
        else:
            self.ignored += 1
            self._doubt(low, high, received)

    def observe_creation(self, created: float) -> None:
        """Record the creationTimestamp of an object that was read, in seconds since the epoch.

        It only moves the lower end, and never beyond the upper one: a timestamp from before the
        server's clock was set back, or one that another writer made up, is ignored.
        """
        if self._known is None:
            return
        moment = self._own.monotonic()
        low, high = created + ROUNDING_SECONDS - moment, self._known.high_at(moment)
        if self._known.low_at(moment) < low <= high:
            self._known = _Interval(low, high, moment)

    def trust_own(self) -> None:
        """Use the machine's clock, because the server sends no dates.
        Later steps of that clock are ignored.
        """
        if self._known is None:
            moment = self._own.monotonic()
            offset = self._own.now() - moment
            self._accept(_Interval(offset, offset, moment))

    def next_edge(self) -> float:
        """The next monotonic time at which a request halves the uncertainty: the server's clock
        then reaches a full second if it is in the middle of the interval.
        """
        moment = self._own.monotonic()
        if self._known is None:
            return moment
        middle = (self._known.low_at(moment) + self._known.high_at(moment)) / 2
        return math.ceil(moment + middle) - middle

    def _accept(self, interval: _Interval) -> None:
        # Contradictions count only in succession. Otherwise a proxy that is wrong now and then
        # would collect enough of them to set the clock.
        self._known, self._other, self._other_count = interval, None, 0
        self.observed_at = interval.at

    def _doubt(self, low: float, high: float, at: float) -> None:
        agreed = self._other.narrowed(low, high, at) if self._other is not None else None
        if agreed is None:
            # Only responses that agree with each other count as confirmations, so start over.
            self._other, self._other_count, self._other_since = _Interval(low, high, at), 1, at
            return
        self._other, self._other_count = agreed, self._other_count + 1
        if self._other_count >= CONFIRMATIONS and at - self._other_since >= CONFIRMATION_SECONDS:
            assert self._known is not None
            self.steps += 1
            # Times kept in memory are shifted by this, so that durations stay correct.
            self.moved_seconds += agreed.low - self._known.low_at(at)
            self._accept(agreed)
