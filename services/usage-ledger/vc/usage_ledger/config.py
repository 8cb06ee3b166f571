"""Configuration of the usage-ledger.

The names of the variables begin with QUEUE_CONTROLLER, which kept the ledger before; installations
that set them need no change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc.model import variables
from vc.model.api.keys import SCHEDULER_NAME
from vc.model.scheduler_names import scheduler_names_variable
from vc.model.variables import AnyVariable

PERIOD_SECONDS_MIN: Final = 0.01
PERIOD_SECONDS_MAX: Final = 3600.0

PERIOD: Final = variables.seconds(
    "QUEUE_CONTROLLER_USAGE_PERIOD_SECONDS",
    15.0,
    low=PERIOD_SECONDS_MIN,
    high=PERIOD_SECONDS_MAX,
    meaning="between two updates of the usage ledger",
)
DAYS: Final = variables.integer(
    "QUEUE_CONTROLLER_USAGE_DAYS",
    35,
    low=1,
    high=3660,
    meaning="how many days of closed hours the usage ledger keeps",
)
JOBS_PER_HOUR: Final = variables.integer(
    "QUEUE_CONTROLLER_USAGE_JOBS_PER_HOUR",
    500,
    low=1,
    high=1_000_000,
    meaning="jobs that a closed hour keeps by name; smaller ones are added up",
)
NAMES: Final = scheduler_names_variable(
    "names of the scheduler, separated by commas; pods of these are charged"
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (PERIOD, DAYS, JOBS_PER_HOUR, NAMES)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of the usage-ledger."""

    period_seconds: float = PERIOD.default
    """Time between two updates of the ledger."""
    days: int = DAYS.default
    """Number of days for which closed hours are kept."""
    jobs_per_hour: int = JOBS_PER_HOUR.default
    """Jobs that a closed hour keeps by name. Smaller ones are summed per queue and namespace."""
    scheduler_names: tuple[str, ...] = (SCHEDULER_NAME,)
    """Pods of these schedulers are charged, and all pods that name a PodGroup."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """Read `QUEUE_CONTROLLER_USAGE_*` and `SCHEDULER_NAMES`."""
        return cls(
            period_seconds=PERIOD.read(environment),
            days=DAYS.read(environment),
            jobs_per_hour=JOBS_PER_HOUR.read(environment),
            scheduler_names=NAMES.read(environment),
        )
