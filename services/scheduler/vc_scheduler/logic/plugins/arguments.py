"""Reading a plugin's arguments: nonsense falls back to the default, as Volcano does."""

from collections.abc import Mapping
from typing import Final

WEIGHT_MAX: Final = 1000
"""Keeps the sum of weighted scores far below what a sorting key holds."""


def weight(arguments: Mapping[str, str], name: str, default: int) -> int:
    """A weight of 0 or more."""
    try:
        given = int(arguments.get(name, default))
    except (TypeError, ValueError):
        return default
    return min(given, WEIGHT_MAX) if given >= 0 else default


def thousandths(arguments: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    """A factor such as 1.2 as thousandths; the default when it is below `least`."""
    try:
        given = round(float(arguments.get(name, default / 1000)) * 1000)
    except (TypeError, ValueError, OverflowError):
        return default
    return given if given >= least else default
