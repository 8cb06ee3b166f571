"""Whose pods are ours: the names of our scheduler, which several services must agree on."""

from collections.abc import Mapping
from typing import Final

from vc_model.keys import SCHEDULER_NAME

SCHEDULER_NAMES: Final = "SCHEDULER_NAMES"


def scheduler_names(environment: Mapping[str, str], key: str = SCHEDULER_NAMES) -> tuple[str, ...]:
    """The names under the key, separated by commas, each once; `volcano` when there are none."""
    given = (name.strip() for name in environment.get(key, "").split(","))
    return tuple(dict.fromkeys(name for name in given if name)) or (SCHEDULER_NAME,)
