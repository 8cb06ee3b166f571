"""Configuration of the job-controller."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc.model import variables
from vc.model.api.keys import SCHEDULER_NAME
from vc.model.compat import COMPAT, Compat
from vc.model.scheduler_names import scheduler_names_variable
from vc.model.variables import AnyVariable

AT_ONCE_MAX: Final = 10_000

JOBS_AT_ONCE: Final = variables.integer(
    "JOB_CONTROLLER_JOBS_AT_ONCE",
    64,
    low=1,
    high=AT_ONCE_MAX,
    meaning="jobs that are worked on at a time",
)
REQUESTS_AT_ONCE: Final = variables.integer(
    "JOB_CONTROLLER_REQUESTS_AT_ONCE",
    32,
    low=1,
    high=AT_ONCE_MAX,
    meaning="requests under way at the API server at a time",
)
NAMES: Final = scheduler_names_variable(
    "names of the scheduler, separated by commas; the first places the pods of jobs that name none"
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (JOBS_AT_ONCE, REQUESTS_AT_ONCE, NAMES, COMPAT)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of the job-controller."""

    jobs_at_once: int = JOBS_AT_ONCE.default
    """Jobs that are worked on concurrently."""
    requests_at_once: int = REQUESTS_AT_ONCE.default
    """Concurrent requests to the API server."""
    scheduler_name: str = SCHEDULER_NAME
    """Scheduler of a job that names none."""
    compat: Compat = Compat.LENIENT

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """Read `JOB_CONTROLLER_JOBS_AT_ONCE`, `JOB_CONTROLLER_REQUESTS_AT_ONCE`, the first of
        `SCHEDULER_NAMES`, and `PYROCLAST_COMPAT`."""
        return cls(
            jobs_at_once=JOBS_AT_ONCE.read(environment),
            requests_at_once=REQUESTS_AT_ONCE.read(environment),
            scheduler_name=NAMES.read(environment)[0],
            compat=COMPAT.read(environment),
        )
