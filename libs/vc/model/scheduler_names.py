"""The scheduler names whose pods are ours; several services must agree on them."""

from collections.abc import Mapping
from typing import Final

from vc.model import variables
from vc.model.api.keys import SCHEDULER_NAME

SCHEDULER_NAMES: Final = "SCHEDULER_NAMES"


def scheduler_names_variable(
    meaning: str, name: str = SCHEDULER_NAMES
) -> variables.Variable[tuple[str, ...]]:
    """The declaration of a variable for scheduler names; each service defines its meaning."""
    return variables.names(name, (SCHEDULER_NAME,), meaning=meaning)


def scheduler_names(environment: Mapping[str, str], key: str = SCHEDULER_NAMES) -> tuple[str, ...]:
    """The names in the variable, separated by commas, without duplicates;
    `volcano` if there are none.
    """
    return scheduler_names_variable("", key).read(environment)
