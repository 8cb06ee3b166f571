"""Parsers for foreign numbers, times and amounts.

Tenants write annotations, labels, headers and arguments, which may have any length and any
characters. `int` raises ValueError beyond 4,300 digits and accepts underscores and digits of other
scripts; `float` accepts `nan`; `datetime` overflows. These functions return a value of the wanted
type within the wanted bounds, or None. They never raise and never read beyond a length limit. The
parsers with error messages (`parse_quantity`, `parse_duration`) raise only their own ValueError.
"""

import math
import re
from typing import Any, Final

from vc.model.values.quantity import INT64_MAX, QuantityError, parse_quantity
from vc.model.values.times import DurationError, parse_duration, parse_time

INT32_MAX: Final = 2**31 - 1
"""Limit of counts in the Kubernetes API: replicas, minMember, tiers."""

NUMBER_LENGTH_MAX: Final = 64
"""Length limit of a number's text with leading zeros; no number within the bounds needs more."""

SHOWN_MAX: Final = 64
"""Characters of a rejected text that an error message shows."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


def read_integer(text: Any, *, least: int = -INT64_MAX, most: int = INT64_MAX) -> int | None:
    """A decimal integer within the bounds, from a text or a number; else None."""
    # A bool is an int in Python, but `true` in a manifest is no number.
    if isinstance(text, bool):
        return None
    if isinstance(text, int):
        return int(text) if least <= text <= most else None
    # The length is checked first, so that neither the pattern nor `int` works on long texts.
    if not isinstance(text, str) or len(text) > NUMBER_LENGTH_MAX or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if least <= number <= most else None


def read_count(text: Any, *, most: int = INT32_MAX) -> int | None:
    """An unsigned integer, such as a count, an index or a version; else None."""
    # Kubernetes writes counts and versions without a sign.
    if isinstance(text, str) and text[:1] in ("+", "-"):
        return None
    return read_integer(text, least=0, most=most)


def read_decimal(text: Any, *, least: float = -math.inf, most: float = math.inf) -> float | None:
    """A finite decimal number within the bounds, from a text or a number; else None."""
    if isinstance(text, bool):
        return None
    if isinstance(text, str):
        if len(text) > NUMBER_LENGTH_MAX or not _DECIMAL.fullmatch(text):
            return None
    elif not isinstance(text, int | float):
        return None
    try:
        number = float(text)
    # An integer of more than 308 digits does not fit a float.
    except OverflowError:
        return None
    return number if math.isfinite(number) and least <= number <= most else None


def read_version(text: Any) -> int:
    """A resourceVersion as a number, or 0 if it is invalid; versions are only compared."""
    return read_count(text, most=INT64_MAX) or 0


def read_time(text: Any) -> float | None:
    """Seconds since the Unix epoch of an RFC 3339 time; None if it is missing or invalid."""
    return parse_time(text)


def read_duration(text: Any) -> float | None:
    """Seconds of a duration in Go's syntax; else None."""
    if not isinstance(text, str):
        return None
    try:
        return parse_duration(text)
    except DurationError:
        return None


def read_quantity(text: Any, *, decimals: int) -> int | None:
    """A Kubernetes quantity in units of 10**-decimals; else None."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return None
    try:
        return parse_quantity(text, decimals=decimals)
    except QuantityError:
        return None


def shown(text: Any) -> str:
    """A rejected text for an error message, shortened before it is formatted."""
    written = text if isinstance(text, str) else type(text).__name__
    cut = "…" if len(written) > SHOWN_MAX else ""
    return f"{written[:SHOWN_MAX]!r}{cut}"
