"""Keeps a process's `ServerClock` accurate while its services send few requests.

Every response of the API server has a `Date` header, so a service that writes often needs no help.
A service that only reads the bus receives none. This task sends a few requests at the start, timed
so that each halves the uncertainty, and later one request whenever no response was observed for a
while.
"""

import logging
from typing import Final

from vc.clock import ServerClock
from vc.cluster import Cluster, ClusterError, NoDateError
from vc.model.values.backoff import exponential_seconds

PERIOD_SECONDS: Final = 30.0
"""The longest time without an observation; clocks drift apart by at most 15 ms in it."""

RETRY_SECONDS: Final = 1.0
RETRY_LONGEST_SECONDS: Final = 5.0
"""Retry delays if no response arrives: some services need no API server and may not reach it."""

WIDTH_WANTED_SECONDS: Final = 0.1
NARROWINGS_MAX: Final = 6
"""Requests until the wanted width: each halves the interval.
The bound stops requests to a slow server.
"""

DATELESS_MAX: Final = 5
"""Number of responses without a date after which the machine's own clock is used."""


class TimeKeeper:
    """The background task, one per process; call `run` and cancel it."""

    def __init__(self, clock: ServerClock, cluster: Cluster, log: logging.Logger) -> None:
        self._clock = clock
        self._cluster = cluster
        self._log = log
        self._narrowings = 0
        self._dateless = 0
        self._failures = 0
        self._steps = 0

    async def run(self) -> None:
        """Request the date, then wait until the next request is useful."""
        while True:
            await self._request_date()
            await self._wait()

    async def _request_date(self) -> None:
        # Taken before the request: the server wrote the date between this time and the response.
        sent = self._clock.monotonic()
        try:
            date = await self._cluster.date()
        except NoDateError as error:
            self._without_date(error)
        except (
            ClusterError
        ) as error:  # an error response has a date too, which the connection has observed
            self._failures += 1
            self._log.debug("date request failed error=%s", error)
        else:
            self._failures = 0
            self._clock.observe(date, sent=sent, received=self._clock.monotonic())
        if self._clock.steps != self._steps:
            # After a step the old bounds are worthless, so narrow the interval again.
            self._steps, self._narrowings = self._clock.steps, 0
            self._log.warning(
                "API server clock set machine_ahead_seconds=%.1f",
                self._clock.ahead_seconds,
            )

    def _without_date(self, error: NoDateError) -> None:
        self._dateless += 1
        # A proxy that strips the header would otherwise keep all services unready forever.
        if self._dateless == DATELESS_MAX and not self._clock.known:
            self._log.warning("deadlines use the machine clock error=%s", error)
            self._clock.trust_own()

    async def _wait(self) -> None:
        clock = self._clock
        # While the time is unknown or in doubt decisions wait, so retry soon.
        if not clock.known or clock.doubted:
            pause = exponential_seconds(
                self._failures,
                first_seconds=RETRY_SECONDS,
                longest_seconds=RETRY_LONGEST_SECONDS,
            )
            await clock.sleep(pause)
            return
        if clock.width_seconds > WIDTH_WANTED_SECONDS and self._narrowings < NARROWINGS_MAX:
            self._narrowings += 1
        else:
            await self._until_quiet()
        # A request at the estimated change of the server's second halves the uncertainty.
        if not clock.doubted:
            await clock.sleep(max(0.0, clock.next_edge() - clock.monotonic()))

    async def _until_quiet(self) -> None:
        """Wait until no response was observed for a period,
        or until the observation is in doubt.
        """
        while True:
            rest = self._clock.observed_at + PERIOD_SECONDS - self._clock.monotonic()
            if rest <= 0 or self._clock.doubted:
                return
            await self._clock.sleep(min(rest, PERIOD_SECONDS))
