"""What can be set from outside."""

from collections.abc import Mapping
from dataclasses import dataclass

from vc_model.keys import SCHEDULER_NAME


@dataclass(frozen=True, kw_only=True)
class Config:
    """The podgroup-controller's own keys."""

    scheduler_names: frozenset[str] = frozenset({SCHEDULER_NAME})
    """Pods that name one of these are ours."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`SCHEDULER_NAMES`, separated by commas."""
        given = environment.get("SCHEDULER_NAMES", SCHEDULER_NAME)
        return cls(scheduler_names=frozenset(name for name in given.split(",") if name))
