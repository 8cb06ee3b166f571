"""Whose pods are ours: the names of our scheduler, which several services must agree on."""

from collections.abc import Mapping
from typing import Final

from vc_model import variables
from vc_model.keys import SCHEDULER_NAME

SCHEDULER_NAMES: Final = "SCHEDULER_NAMES"


def scheduler_names_variable(
    meaning: str, name: str = SCHEDULER_NAMES
) -> variables.Variable[tuple[str, ...]]:
    """The declaration of such a variable; what a service does with the names is its own."""
    return variables.names(name, (SCHEDULER_NAME,), meaning=meaning)


def scheduler_names(environment: Mapping[str, str], key: str = SCHEDULER_NAMES) -> tuple[str, ...]:
    """The names under the key, separated by commas, each once; `volcano` when there are none."""
    return scheduler_names_variable("", key).read(environment)
