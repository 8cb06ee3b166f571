"""What can be set from outside."""

from collections.abc import Mapping
from dataclasses import dataclass

from vc_model.compat import Compat, read_compat
from vc_model.keys import SCHEDULER_NAME
from vc_model.scheduler_names import scheduler_names


@dataclass(frozen=True, kw_only=True)
class Config:
    """The job-controller's own keys."""

    jobs_at_once: int = 64
    """Jobs that are worked on at a time."""
    requests_at_once: int = 32
    """Requests under way at the API server at a time."""
    scheduler_name: str = SCHEDULER_NAME
    """Who places the pods of a job that does not say."""
    compat: Compat = Compat.LENIENT

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`JOB_CONTROLLER_JOBS_AT_ONCE`, `JOB_CONTROLLER_REQUESTS_AT_ONCE`, and the first
        of `SCHEDULER_NAMES`; `PYROCLAST_COMPAT`."""
        return cls(
            jobs_at_once=int(environment.get("JOB_CONTROLLER_JOBS_AT_ONCE", cls.jobs_at_once)),
            requests_at_once=int(
                environment.get("JOB_CONTROLLER_REQUESTS_AT_ONCE", cls.requests_at_once)
            ),
            scheduler_name=scheduler_names(environment)[0],
            compat=read_compat(environment),
        )
