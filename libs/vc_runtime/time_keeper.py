"""Keeps a process's `ServerClock` right while its services are quiet.

Every answer of the API server carries a `Date`, and a service that writes hears many. Who reads only
the bus hears none, so one request a process is made here: a few at the start, placed where each halves
what is uncertain, then one when nothing else was heard for a while.
"""

import logging
from typing import Final

from vc_clock import ServerClock
from vc_cluster import Cluster, ClusterError, NoDateError

PERIOD_SECONDS: Final = 30.0
"""The longest time without an answer: our clocks drift apart by at most 15 ms in it."""

RETRY_SECONDS: Final = 1.0
RETRY_LONGEST_SECONDS: Final = 5.0
"""Where no answer comes: some services need no API server and may not reach it."""

WIDTH_WANTED_SECONDS: Final = 0.1
NARROWINGS_MAX: Final = 6
"""Requests to get there: each halves a second. A server that answers slowly is not asked for ever."""

DATELESS_MAX: Final = 5
"""Answers without a date until the machine's own clock has to do."""


class TimeKeeper:
    """One a process; `run` until cancelled."""

    def __init__(self, clock: ServerClock, cluster: Cluster, log: logging.Logger) -> None:
        self._clock = clock
        self._cluster = cluster
        self._log = log
        self._narrowings = 0
        self._dateless = 0
        self._failures = 0
        self._steps = 0

    async def run(self) -> None:
        """Ask, then wait for as long as nothing is uncertain."""
        while True:
            await self._ask()
            await self._wait()

    async def _ask(self) -> None:
        sent = self._clock.monotonic()
        try:
            date = await self._cluster.date()
        except NoDateError as error:
            self._without_date(error)
        except (
            ClusterError
        ) as error:  # a refusal has a date as well, which the connection has heard
            self._failures += 1
            self._log.debug("the API server's time was asked for in vain: %s", error)
        else:
            self._failures = 0
            self._clock.observe(date, sent=sent, received=self._clock.monotonic())
        if self._clock.steps != self._steps:
            self._steps, self._narrowings = self._clock.steps, 0
            self._log.warning(
                "the API server's clock was set: this machine's is now %.1f s ahead of it",
                self._clock.ahead_seconds,
            )

    def _without_date(self, error: NoDateError) -> None:
        self._dateless += 1
        if self._dateless == DATELESS_MAX and not self._clock.known:
            self._log.warning("deadlines count by this machine's clock: %s", error)
            self._clock.trust_own()

    async def _wait(self) -> None:
        clock = self._clock
        if not clock.known or clock.doubted:
            doubled = RETRY_SECONDS * (1 << min(max(self._failures - 1, 0), 8))
            await clock.sleep(min(doubled, RETRY_LONGEST_SECONDS))
            return
        if clock.width_seconds > WIDTH_WANTED_SECONDS and self._narrowings < NARROWINGS_MAX:
            self._narrowings += 1
        else:
            await self._until_quiet()
        if not clock.doubted:
            await clock.sleep(max(0.0, clock.next_edge() - clock.monotonic()))

    async def _until_quiet(self) -> None:
        """Until nothing was heard for a period, or what was heard is doubtful."""
        while True:
            rest = self._clock.observed_at + PERIOD_SECONDS - self._clock.monotonic()
            if rest <= 0 or self._clock.doubted:
                return
            await self._clock.sleep(min(rest, PERIOD_SECONDS))
