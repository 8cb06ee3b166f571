"""Kubernetes quantities as exact integers.

A quantity is a decimal number with a binary (`Ki` … `Ei`), decimal (`n u m "" k M G T P E`) or
exponent (`e3`) suffix. Internally each resource has one integer unit: CPU in milli, memory and
other byte amounts in bytes, everything else in milli, so that half a GPU share is exact. Fractions
of a unit are rounded up, as in Kubernetes, and values are clamped to int64, because columns are
int64. Python integers are used for the calculation, so 1e30 is parsed exactly before the clamp.
"""

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from vc.model.values.resources import Resources

if TYPE_CHECKING:
    from vc.model.api.struct import ResourceList

INT64_MAX: Final = 2**63 - 1
QUANTITY_LENGTH_MAX: Final = 64
"""Longer texts are rejected: they are never meant, and 10**999999 would exhaust the memory."""

_EXPONENT_MAX: Final = 100
"""Limit of the exponent; with at most 64 characters every larger number is clamped anyway."""
_PATTERN: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>\d+(?:\.\d*)?|\.\d+)(?:[eE](?P<exp>[+-]?\d{1,4})|(?P<suffix>[numkKMGTPE]i?)?)",
    re.ASCII,  # Kubernetes accepts ASCII digits only
)
_DECIMAL_EXPONENT: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_EXPONENT: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

TEXTS_REMEMBERED_MAX: Final = 4_096
"""A cluster has few distinct amounts on very many nodes and pods."""

MILLI: Final = 3
"""Decimal places of the milli unit."""
WHOLE: Final = 0

_BYTE_RESOURCES: Final = frozenset({"memory", "ephemeral-storage", "storage"})


class QuantityError(ValueError):
    """An invalid quantity; the message has the text and an example."""


def decimals_of(resource: str) -> int:
    """The unit of a resource as decimal places: bytes are whole, everything else is in milli."""
    plain = resource.removeprefix("requests.").removeprefix("limits.")
    if plain in _BYTE_RESOURCES or plain.startswith("hugepages-"):
        return WHOLE
    return MILLI


def parse_quantity(text: str | float, *, decimals: int = WHOLE) -> int:
    """The quantity in units of 10**-decimals, rounded away from zero, clamped to int64."""
    numerator, denominator = _fraction(text)
    scaled = numerator * int(10**decimals)
    # Ceiling division on the magnitude: a request must never be rounded down.
    magnitude = -(-abs(scaled) // denominator)
    clamped = min(magnitude, INT64_MAX)
    return clamped if scaled >= 0 else -clamped


@functools.lru_cache(maxsize=TEXTS_REMEMBERED_MAX, typed=True)
def _fraction(text: str | float) -> tuple[int, int]:
    """The exact value as numerator and positive denominator."""
    # JSON numbers need no parsing.
    if isinstance(text, int):
        return int(text), 1
    # `repr` is the shortest text of a float, so 0.1 is exactly a tenth.
    written = repr(text) if isinstance(text, float) else text.strip()
    match = _PATTERN.fullmatch(written) if len(written) <= QUANTITY_LENGTH_MAX else None
    suffix = (match["suffix"] or "") if match else ""
    known = suffix in _DECIMAL_EXPONENT or suffix in _BINARY_EXPONENT
    if match is None or not known:
        shown = written[:QUANTITY_LENGTH_MAX]
        raise QuantityError(f"{shown!r} is not a quantity; write one like 500m, 2, 1.5Gi or 1e3")
    whole, _, fraction = match["digits"].partition(".")
    value = int(whole + fraction or "0") * (-1 if match["sign"] == "-" else 1)
    exponent = int(match["exp"]) if match["exp"] else _DECIMAL_EXPONENT.get(suffix, 0)
    # Bounded before the power is computed, which could otherwise exhaust memory.
    exponent = max(-_EXPONENT_MAX, min(exponent, _EXPONENT_MAX)) - len(fraction)
    # A shift keeps binary suffixes exact, whatever the number of decimals.
    value <<= _BINARY_EXPONENT.get(suffix, 0)
    return (value * 10**exponent, 1) if exponent >= 0 else (value, 10**-exponent)


def parse_resources(amounts: Mapping[str, str | int | float] | None) -> Resources:
    """A resource list in our integer units; the error names the resource."""
    parsed = Resources()
    for name, text in (amounts or {}).items():
        try:
            parsed[name] = parse_quantity(text, decimals=decimals_of(name))
        except QuantityError as error:
            raise QuantityError(f"{name}: {error}") from None
    return parsed


def format_quantity(units: int, *, decimals: int) -> str:
    """The canonical short text of an amount in units of 10**-decimals."""
    scale = 10**decimals
    if decimals and units % scale:
        return f"{units}m" if decimals == MILLI else f"{units}e-{decimals}"
    whole = units // scale
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        factor = 1 << _BINARY_EXPONENT[suffix]
        # Only byte amounts get a binary suffix, and only if it is exact.
        if not decimals and whole and whole % factor == 0:
            return f"{whole // factor}{suffix}"
    return str(whole)


def format_resources(amounts: Mapping[str, int]) -> "ResourceList":
    """The inverse of `parse_resources`, sorted by name."""
    return {
        name: format_quantity(amounts[name], decimals=decimals_of(name)) for name in sorted(amounts)
    }
