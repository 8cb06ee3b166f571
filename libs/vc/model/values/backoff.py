"""Exponential backoff with jitter: the one rule for the pause before an attempt is repeated.

Work queues, effects, consumers, the Kubernetes client, leader election and supervised services use
`delay_seconds`. Decision logic is deterministic and has no random source; it uses
`exponential_seconds`, the same delays without jitter (bind backoff, refused evictions).
"""

from typing import Final, Protocol

FIRST_SECONDS: Final = 0.05
LONGEST_SECONDS: Final = 5.0
_DOUBLINGS_MAX: Final = 16
_JITTER: Final = 0.5
"""Largest fraction that is subtracted from a delay, or added to a delay that a server requested.
Without it, all clients of a server that was away would return at the same moment.
"""


class RandomSource(Protocol):
    """The part of `random.Random` that jitter needs; pure packages must not import `random`."""

    def random(self) -> float: ...


def exponential_seconds(
    attempt: int, *, first_seconds: float = FIRST_SECONDS, longest_seconds: float = LONGEST_SECONDS
) -> float:
    """The delay before attempt number `attempt` (1 is the first retry), without jitter."""
    # The exponent is bounded so that a long outage does not shift by ever larger numbers.
    doublings = min(max(attempt - 1, 0), _DOUBLINGS_MAX)
    return min(first_seconds * (1 << doublings), longest_seconds)


def delay_seconds(
    attempt: int,
    rng: RandomSource,
    *,
    first_seconds: float = FIRST_SECONDS,
    longest_seconds: float = LONGEST_SECONDS,
) -> float:
    """The delay before attempt number `attempt`, shortened by up to half at random."""
    full = exponential_seconds(
        attempt, first_seconds=first_seconds, longest_seconds=longest_seconds
    )
    # Subtracted and not added, so that `longest_seconds` remains an upper bound.
    return full * (1 - _JITTER * rng.random())


def retry_after_seconds(requested_seconds: float, rng: RandomSource) -> float:
    """The delay for a server's Retry-After:
    never shorter than requested, and different per client.
    """
    return requested_seconds * (1 + _JITTER * rng.random())
