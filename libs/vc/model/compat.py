"""Compatibility where the users' documents and Volcano differ: one setting for all services.

Each service reads `PYROCLAST_COMPAT` once, at its start, and passes the value into its logic.
During a rolling change services may have different values, so services with one value must find and
keep what services with the other wrote.
"""

import enum
from collections.abc import Mapping
from typing import Final

from vc.model.variables import Variable

COMPAT_VARIABLE: Final = "PYROCLAST_COMPAT"
_FORMER_LENIENT: Final = "seeds"


class Compat(enum.Enum):
    """The values of the setting."""

    LENIENT = "lenient"
    """Follows the users' documents; accepts what Volcano accepts and more."""
    UPSTREAM = "upstream"
    """Behaves exactly like Volcano in the points of docs/compatibility.md."""


def _parse(written: str) -> Compat:
    # The old name of the value is still accepted, so that an upgrade does not break a chart.
    if written == _FORMER_LENIENT:
        return Compat.LENIENT
    try:
        return Compat(written)
    except ValueError:
        allowed = " or ".join(mode.value for mode in Compat)
        raise ValueError(f"write {allowed}") from None


COMPAT: Final = Variable(
    COMPAT_VARIABLE,
    Compat.LENIENT,
    meaning="lenient, or upstream for Volcano's letter; the same for all services",
    parse=_parse,
    shown=Compat.LENIENT.value,
)


def read_compat(env: Mapping[str, str]) -> Compat:
    """The setting; ValueError names the variable, the value and what to write."""
    return COMPAT.read(env)


def compat_warning(env: Mapping[str, str]) -> str:
    """The warning to log once at the start; empty if the value is not deprecated."""
    if env.get(COMPAT_VARIABLE) != _FORMER_LENIENT:
        return ""
    return (
        f"{COMPAT_VARIABLE}={_FORMER_LENIENT} is deprecated and means "
        f"{Compat.LENIENT.value}; write {COMPAT_VARIABLE}={Compat.LENIENT.value}"
    )
