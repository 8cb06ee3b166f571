"""Configuration of the queue-controller."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc.model import variables
from vc.model.variables import AnyVariable

PERIOD_SECONDS_MIN: Final = 0.01
PERIOD_SECONDS_MAX: Final = 3600.0

COUNTERS_PERIOD: Final = variables.seconds(
    "QUEUE_CONTROLLER_COUNTERS_PERIOD_SECONDS",
    1.0,
    low=PERIOD_SECONDS_MIN,
    high=PERIOD_SECONDS_MAX,
    meaning="between two decisions about the queues; counters are written no more often than this",
)
SYSTEM_ONLY: Final = "system-namespace"
VETTED: Final = "vetted"
COMMANDS_FROM: Final = variables.choice(
    "QUEUE_CONTROLLER_COMMANDS_FROM",
    SYSTEM_ONLY,
    known=(SYSTEM_ONLY, VETTED),
    meaning="which Commands for queues count: those of our own namespace, or (vetted) all, because "
    "admission refuses those of people who may not update the queue",
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (COUNTERS_PERIOD, COMMANDS_FROM)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of the queue-controller."""

    counters_period_seconds: float = COUNTERS_PERIOD.default
    """Time between two decisions about queues. Counters are written no more often than this."""
    commands_vetted: bool = False
    """Whether admission checks Commands of all namespaces. If not,
    only those of our namespace count."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """Read `QUEUE_CONTROLLER_COUNTERS_PERIOD_SECONDS` and `QUEUE_CONTROLLER_COMMANDS_FROM`."""
        return cls(
            counters_period_seconds=COUNTERS_PERIOD.read(environment),
            commands_vetted=COMMANDS_FROM.read(environment) == VETTED,
        )
