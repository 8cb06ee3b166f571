"""Waiting longer and longer, with jitter, up to a bound: no storms after an outage."""

import random
from typing import Final

FIRST_SECONDS: Final = 0.05
LONGEST_SECONDS: Final = 5.0
_DOUBLINGS_MAX: Final = 16
_JITTER: Final = 0.5
"""Up to this fraction is taken off, or added to what somebody asked for, so that waiters do not come
back together."""


def delay_seconds(
    attempt: int,
    chance: random.Random,
    *,
    first_seconds: float = FIRST_SECONDS,
    longest_seconds: float = LONGEST_SECONDS,
) -> float:
    """How long to wait before attempt number `attempt` (1 is the first retry)."""
    doublings = min(max(attempt - 1, 0), _DOUBLINGS_MAX)
    full = min(first_seconds * (1 << doublings), longest_seconds)
    return full * (1 - _JITTER * chance.random())


def told_delay_seconds(told_seconds: float, chance: random.Random) -> float:
    """How long to wait when a server said how long: never less, and not all for the same time."""
    return told_seconds * (1 + _JITTER * chance.random())
