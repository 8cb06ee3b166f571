"""Reads the arguments of plugins. Unreadable values fall back to the default, as in Volcano.

The configuration is checked before (`argument_checks.py`), so every fallback was reported as a
warning, and a configuration with a weight above the limit was rejected.
"""

import re
from collections.abc import Mapping
from typing import Final

from vc.model.support.configuration import WEIGHT_MAX
from vc.model.values.bounded import INT32_MAX, read_decimal, read_integer

DURATION_SECONDS_MAX: Final = 10 * 365 * 24 * 3600
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_DURATION: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s|us|ns)")


def seconds(written: str) -> float | None:
    """A Go duration (`1h30m`, `90s`) in seconds; None if it is empty, invalid or negative."""
    parts = _DURATION.findall(written)
    # Text between or after the parts makes the whole duration invalid.
    if not parts or "".join(number + unit for number, unit in parts) != written.strip():
        return None
    return min(sum(float(number) * _UNITS[unit] for number, unit in parts), DURATION_SECONDS_MAX)


def weight(arguments: Mapping[str, str], name: str, default: int) -> int:
    """A weight of 0 or more."""
    given = read_integer(_text(arguments.get(name, default)))
    return default if given is None or given < 0 else min(given, WEIGHT_MAX)


def thousandths(arguments: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    """A factor such as 1.2 in thousandths; the default if it is below `least`."""
    written = read_decimal(_text(arguments.get(name, default / 1000)), most=INT32_MAX)
    given = default if written is None else round(written * 1000)
    return given if given >= least else default


def _text(written: object) -> object:
    return written.strip() if isinstance(written, str) else written
