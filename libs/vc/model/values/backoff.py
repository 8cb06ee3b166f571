"""Exponential backoff with jitter and an upper limit, to avoid request storms after an outage."""

import random
from typing import Final

FIRST_SECONDS: Final = 0.05
LONGEST_SECONDS: Final = 5.0
_DOUBLINGS_MAX: Final = 16
_JITTER: Final = 0.5
"""Largest fraction that is subtracted from a delay, or added to a delay that a server requested, so
that clients do not retry at the same moment.
"""


def delay_seconds(
    attempt: int,
    rng: random.Random,
    *,
    first_seconds: float = FIRST_SECONDS,
    longest_seconds: float = LONGEST_SECONDS,
) -> float:
    """The delay before attempt number `attempt` (1 is the first retry)."""
    # The exponent is bounded so that a long outage does not shift by ever larger numbers.
    doublings = min(max(attempt - 1, 0), _DOUBLINGS_MAX)
    full = min(first_seconds * (1 << doublings), longest_seconds)
    return full * (1 - _JITTER * rng.random())


def stated_delay_seconds(told_seconds: float, rng: random.Random) -> float:
    """The delay for a server's Retry-After:
    never shorter than requested, and different per client.
    """
    return told_seconds * (1 + _JITTER * rng.random())
