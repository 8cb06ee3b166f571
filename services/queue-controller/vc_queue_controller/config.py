"""What can be set from outside."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Config:
    """The queue-controller's own keys."""

    counters_period_seconds: float = 1.0
    """Between two looks at the queues; counters are written no more often than this."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`QUEUE_CONTROLLER_COUNTERS_PERIOD_SECONDS`."""
        given = environment.get("QUEUE_CONTROLLER_COUNTERS_PERIOD_SECONDS")
        return cls(counters_period_seconds=float(given)) if given else cls()
