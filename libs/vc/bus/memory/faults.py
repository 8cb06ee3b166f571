"""Injected faults, drawn from a seeded random generator.

All of them occur with real brokers: a record is delivered late, a producer's retry stores a second
copy, an acknowledgement is late or lost although the message arrived. The order within a log is
kept, as a broker keeps it. Crashes of processes are not simulated here but by
`tests/simulation/mortal.py`.
"""

import random

import msgspec


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """Rates and bounds of faults; the default has none."""

    delay_rate: float = 0.0
    """Fraction of messages that are delivered late."""
    delay_seconds_max: float = 0.0
    duplicate_rate: float = 0.0
    """Fraction of publishes whose whole batch is stored twice."""
    acknowledge_seconds_max: float = 0.0
    """Upper bound of the time until a publish is acknowledged."""
    lost_acknowledgement_rate: float = 0.0
    """Fraction of publishes that arrive although the caller gets BusUnavailableError."""


class FaultDice:
    """Draws faults; the same seed and the same calls yield the same faults."""

    def __init__(self, faults: Faults | None, *, seed: int | None) -> None:
        self._faults = faults or Faults()
        self._random = random.Random(seed or 0)

    @property
    def quiet(self) -> bool:
        """Whether no fault is configured; then nothing is drawn, which keeps the hot path short."""
        return self._faults == Faults()

    def delay_seconds(self) -> float:
        if self._random.random() >= self._faults.delay_rate:
            return 0.0
        return self._random.uniform(0.0, self._faults.delay_seconds_max)

    def copies(self) -> int:
        return 2 if self._random.random() < self._faults.duplicate_rate else 1

    def acknowledge_seconds(self) -> float:
        return self._random.uniform(0.0, self._faults.acknowledge_seconds_max)

    def acknowledgement_lost(self) -> bool:
        return self._random.random() < self._faults.lost_acknowledgement_rate
