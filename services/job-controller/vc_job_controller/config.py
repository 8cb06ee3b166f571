"""What can be set from outside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc_model import variables
from vc_model.compat import COMPAT, Compat
from vc_model.keys import SCHEDULER_NAME
from vc_model.scheduler_names import scheduler_names_variable
from vc_model.variables import AnyVariable

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
    """The job-controller's own keys."""

    jobs_at_once: int = JOBS_AT_ONCE.default
    """Jobs that are worked on at a time."""
    requests_at_once: int = REQUESTS_AT_ONCE.default
    """Requests under way at the API server at a time."""
    scheduler_name: str = SCHEDULER_NAME
    """Who places the pods of a job that does not say."""
    compat: Compat = Compat.LENIENT

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`JOB_CONTROLLER_JOBS_AT_ONCE`, `JOB_CONTROLLER_REQUESTS_AT_ONCE`, and the first
        of `SCHEDULER_NAMES`; `PYROCLAST_COMPAT`."""
        return cls(
            jobs_at_once=JOBS_AT_ONCE.read(environment),
            requests_at_once=REQUESTS_AT_ONCE.read(environment),
            scheduler_name=NAMES.read(environment)[0],
            compat=COMPAT.read(environment),
        )
