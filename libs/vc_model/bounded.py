"""The one reader of numbers, times and amounts that somebody else wrote.

Annotations, labels, headers and argument texts are written by tenants, and may be of any length and any
characters. `int` refuses more than 4,300 digits with a ValueError, takes other scripts' digits and
underscores; `float` takes `nan`; `datetime` overflows. Here a text is one of the wanted sort within the
wanted bounds, or it is None: nothing raises, whatever is given, and no text is looked at beyond a bound.
The readers that give a sentence instead (`parse_quantity`, `parse_duration`) raise their own ValueError
alone.
"""

import math
import re
from typing import Any, Final

from vc_model.quantity import INT64_MAX, QuantityError, parse_quantity
from vc_model.times import DurationError, parse_duration, parse_time

INT32_MAX: Final = 2**31 - 1
"""Of counts in the Kubernetes API: replicas, minMember, tiers."""

NUMBER_LENGTH_MAX: Final = 64
"""Of a number's text, leading zeros included; no number that fits a bound needs more."""

SHOWN_MAX: Final = 64
"""Characters of a refused text that a sentence shows."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


def read_integer(text: Any, *, least: int = -INT64_MAX, most: int = INT64_MAX) -> int | None:
    """A decimal integer within the bounds, from a text or a number; None for anything else."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int):
        return int(text) if least <= text <= most else None
    if not isinstance(text, str) or len(text) > NUMBER_LENGTH_MAX or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if least <= number <= most else None


def read_count(text: Any, *, most: int = INT32_MAX) -> int | None:
    """Digits alone, no sign: a count, an index, a version; None for anything else."""
    if isinstance(text, str) and text[:1] in ("+", "-"):
        return None
    return read_integer(text, least=0, most=most)


def read_decimal(text: Any, *, least: float = -math.inf, most: float = math.inf) -> float | None:
    """A finite decimal number within the bounds, from a text or a number; None for anything else."""
    if isinstance(text, bool):
        return None
    if isinstance(text, str):
        if len(text) > NUMBER_LENGTH_MAX or not _DECIMAL.fullmatch(text):
            return None
    elif not isinstance(text, int | float):
        return None
    try:
        number = float(text)
    except OverflowError:
        return None
    return number if math.isfinite(number) and least <= number <= most else None


def read_version(text: Any) -> int:
    """A resourceVersion as a number, 0 for one that is none: versions only order things."""
    return read_count(text, most=INT64_MAX) or 0


def read_time(text: Any) -> float | None:
    """Seconds since the epoch of an RFC 3339 time; None for none, and for what is no time."""
    return parse_time(text)


def read_duration(text: Any) -> float | None:
    """Seconds of a duration in Go's syntax; None for what is none."""
    if not isinstance(text, str):
        return None
    try:
        return parse_duration(text)
    except DurationError:
        return None


def read_quantity(text: Any, *, decimals: int) -> int | None:
    """A Kubernetes quantity in units of 10**-decimals; None for what is none."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return None
    try:
        return parse_quantity(text, decimals=decimals)
    except QuantityError:
        return None


def shown(text: Any) -> str:
    """A refused text as a sentence may show it, bounded before it is written out."""
    written = text if isinstance(text, str) else type(text).__name__
    cut = "…" if len(written) > SHOWN_MAX else ""
    return f"{written[:SHOWN_MAX]!r}{cut}"
