"""Configuration of the podgroup-controller."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vc.model.api.keys import SCHEDULER_NAME
from vc.model.scheduler_names import scheduler_names_variable
from vc.model.variables import AnyVariable

NAMES: Final = scheduler_names_variable(
    "names of the scheduler, separated by commas; pods that name one of them get a pod group"
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (NAMES,)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of the podgroup-controller."""

    scheduler_names: frozenset[str] = frozenset({SCHEDULER_NAME})
    """Names of our scheduler. Pods that name one of them are grouped."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Config":
        """Read `SCHEDULER_NAMES`, separated by commas."""
        return cls(scheduler_names=frozenset(NAMES.read(environment)))
