"""Configuration of the queue-controller."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc.model import variables
from vc.model.api.keys import SCHEDULER_NAME
from vc.model.scheduler_names import scheduler_names_variable
from vc.model.variables import AnyVariable

PERIOD_SECONDS_MIN: Final = 0.01
PERIOD_SECONDS_MAX: Final = 3600.0

COUNTERS_PERIOD: Final = variables.seconds(
    "QUEUE_CONTROLLER_COUNTERS_PERIOD_SECONDS",
    1.0,
    low=PERIOD_SECONDS_MIN,
    high=PERIOD_SECONDS_MAX,
    meaning="between two looks at the queues; counters are written no more often than this",
)
USAGE_PERIOD: Final = variables.seconds(
    "QUEUE_CONTROLLER_USAGE_PERIOD_SECONDS",
    15.0,
    low=PERIOD_SECONDS_MIN,
    high=PERIOD_SECONDS_MAX,
    meaning="between two looks at the usage ledger",
)
USAGE_DAYS: Final = variables.integer(
    "QUEUE_CONTROLLER_USAGE_DAYS",
    35,
    low=1,
    high=3660,
    meaning="how many days of closed hours the usage ledger keeps",
)
USAGE_JOBS_PER_HOUR: Final = variables.integer(
    "QUEUE_CONTROLLER_USAGE_JOBS_PER_HOUR",
    500,
    low=1,
    high=1_000_000,
    meaning="jobs that a closed hour keeps by name; smaller ones are added up",
)
NAMES: Final = scheduler_names_variable(
    "names of the scheduler, separated by commas; pods of these are charged"
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
VARIABLES: Final[tuple[AnyVariable, ...]] = (
    COUNTERS_PERIOD,
    USAGE_PERIOD,
    USAGE_DAYS,
    USAGE_JOBS_PER_HOUR,
    NAMES,
    COMMANDS_FROM,
)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of the queue-controller."""

    counters_period_seconds: float = COUNTERS_PERIOD.default
    """Time between two decisions about queues. Counters are written no more often than this."""
    usage_period_seconds: float = USAGE_PERIOD.default
    """Time between two updates of the usage ledger."""
    usage_days: int = USAGE_DAYS.default
    """Number of days for which closed hours are kept."""
    usage_jobs_per_hour: int = USAGE_JOBS_PER_HOUR.default
    """Jobs that a closed hour keeps by name. Smaller ones are summed per queue and namespace."""
    scheduler_names: tuple[str, ...] = (SCHEDULER_NAME,)
    """Pods of these schedulers are charged, and all pods that name a PodGroup."""
    commands_vetted: bool = False
    """Whether admission checks Commands of all namespaces. If not,
    only those of our namespace count."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """Read `QUEUE_CONTROLLER_COUNTERS_PERIOD_SECONDS`, `QUEUE_CONTROLLER_USAGE_*`,
        `QUEUE_CONTROLLER_COMMANDS_FROM` and `SCHEDULER_NAMES`."""
        return cls(
            counters_period_seconds=COUNTERS_PERIOD.read(environment),
            usage_period_seconds=USAGE_PERIOD.read(environment),
            usage_days=USAGE_DAYS.read(environment),
            usage_jobs_per_hour=USAGE_JOBS_PER_HOUR.read(environment),
            scheduler_names=NAMES.read(environment),
            commands_vetted=COMMANDS_FROM.read(environment) == VETTED,
        )
