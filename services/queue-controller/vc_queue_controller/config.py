"""What can be set from outside."""

from collections.abc import Mapping
from dataclasses import dataclass

from vc_model.keys import SCHEDULER_NAME
from vc_model.scheduler_names import scheduler_names


@dataclass(frozen=True, kw_only=True)
class Config:
    """The queue-controller's own keys."""

    counters_period_seconds: float = 1.0
    """Between two looks at the queues; counters are written no more often than this."""
    usage_period_seconds: float = 15.0
    """Between two looks at the usage ledger."""
    usage_days: int = 35
    """How many days of closed hours are kept."""
    usage_jobs_per_hour: int = 500
    """Jobs that a closed hour keeps by name; smaller ones are added up per queue and namespace."""
    scheduler_names: tuple[str, ...] = (SCHEDULER_NAME,)
    """Pods of these are charged, and all that name a pod group."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`QUEUE_CONTROLLER_COUNTERS_PERIOD_SECONDS`, `QUEUE_CONTROLLER_USAGE_*`,
        `SCHEDULER_NAMES`."""
        prefix = "QUEUE_CONTROLLER_"
        default = cls()
        return cls(
            counters_period_seconds=float(
                environment.get(f"{prefix}COUNTERS_PERIOD_SECONDS")
                or default.counters_period_seconds
            ),
            usage_period_seconds=float(
                environment.get(f"{prefix}USAGE_PERIOD_SECONDS") or default.usage_period_seconds
            ),
            usage_days=int(environment.get(f"{prefix}USAGE_DAYS") or default.usage_days),
            usage_jobs_per_hour=int(
                environment.get(f"{prefix}USAGE_JOBS_PER_HOUR") or default.usage_jobs_per_hour
            ),
            scheduler_names=scheduler_names(environment),
        )
