"""What goes wrong on purpose, drawn from a seed.

Everything here happens on real brokers: a record is handed out late, a producer's retry leaves a
second copy, an acknowledgement is late or lost although the message arrived. Order within a log is
kept, as a broker keeps it. Crashes are not the bus's: `tests/simulation/mortal.py` ends processes.
"""

import random

import msgspec


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how much; the default is a faultless bus."""

    delay_rate: float = 0.0
    """Share of messages that are handed out late."""
    delay_seconds_max: float = 0.0
    duplicate_rate: float = 0.0
    """Share of publishes that stand in the logs twice, the whole batch again behind itself."""
    acknowledge_seconds_max: float = 0.0
    """A publish takes up to so long to be acknowledged."""
    lost_acknowledgement_rate: float = 0.0
    """Share of publishes that arrive and yet are answered with BusUnavailableError."""


class FaultDice:
    """Draws the faults; the same seed and the same calls give the same faults."""

    def __init__(self, faults: Faults | None, *, seed: int | None) -> None:
        self._faults = faults or Faults()
        self._random = random.Random(seed or 0)

    @property
    def quiet(self) -> bool:
        """Nothing ever goes wrong, so nothing is drawn: the hot path stays short."""
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
