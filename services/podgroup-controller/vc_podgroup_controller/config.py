"""What can be set from outside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc_model.keys import SCHEDULER_NAME
from vc_model.scheduler_names import scheduler_names_variable
from vc_model.variables import AnyVariable

NAMES: Final = scheduler_names_variable(
    "names of the scheduler, separated by commas; pods that name one of them get a pod group"
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (NAMES,)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The podgroup-controller's own keys."""

    scheduler_names: frozenset[str] = frozenset({SCHEDULER_NAME})
    """Pods that name one of these are ours."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """`SCHEDULER_NAMES`, separated by commas."""
        return cls(scheduler_names=frozenset(NAMES.read(environment)))
