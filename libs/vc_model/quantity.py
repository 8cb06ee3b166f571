"""Kubernetes quantities as exact integers.

A quantity is a decimal number with a binary (`Ki` … `Ei`), decimal (`n u m "" k M G T P E`) or
exponent (`e3`) suffix. Inside we use one integer unit per resource: CPU in milli, memory and other
byte amounts in bytes, everything else in milli, so that half a GPU share stays exact. Fractions of
a unit round up, as Kubernetes does, and values are clamped to int64, because columns are int64.
Python integers are used on the way, so 1e30 parses without losing a digit before the clamp.
"""

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vc_model.struct import ResourceList

INT64_MAX: Final = 2**63 - 1
QUANTITY_LENGTH_MAX: Final = 64
"""Longer texts are refused: nobody means them, and 10**999999 would eat the memory."""

_EXPONENT_MAX: Final = 100
"""With 64 characters there is no number beyond it that does not end at a clamp anyway."""
_PATTERN: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>\d+(?:\.\d*)?|\.\d+)(?:[eE](?P<exp>[+-]?\d{1,4})|(?P<suffix>[numkKMGTPE]i?)?)",
    re.ASCII,  # Kubernetes takes no other digits
)
_DECIMAL_EXPONENT: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_EXPONENT: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

TEXTS_REMEMBERED_MAX: Final = 4_096
"""A cluster writes few different amounts, on very many nodes and pods."""

MILLI: Final = 3
"""Decimal places of the unit: milli."""
WHOLE: Final = 0

_BYTE_RESOURCES: Final = frozenset({"memory", "ephemeral-storage", "storage"})


class QuantityError(ValueError):
    """A text that is not a quantity; says which and what one looks like."""


def decimals_of(resource: str) -> int:
    """The unit of a resource as decimal places: bytes are whole, everything else is in milli."""
    plain = resource.removeprefix("requests.").removeprefix("limits.")
    if plain in _BYTE_RESOURCES or plain.startswith("hugepages-"):
        return WHOLE
    return MILLI


def parse_quantity(text: str | float, *, decimals: int = WHOLE) -> int:
    """The quantity in units of 10**-decimals, rounded up away from zero, clamped to int64."""
    numerator, denominator = _fraction(text)
    scaled = numerator * int(10**decimals)
    magnitude = -(-abs(scaled) // denominator)
    clamped = min(magnitude, INT64_MAX)
    return clamped if scaled >= 0 else -clamped


@functools.lru_cache(maxsize=TEXTS_REMEMBERED_MAX, typed=True)
def _fraction(text: str | float) -> tuple[int, int]:
    """The exact value as numerator and positive denominator."""
    if isinstance(text, int):
        return int(text), 1
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
    exponent = max(-_EXPONENT_MAX, min(exponent, _EXPONENT_MAX)) - len(fraction)
    value <<= _BINARY_EXPONENT.get(suffix, 0)
    return (value * 10**exponent, 1) if exponent >= 0 else (value, 10**-exponent)


def parse_resources(amounts: Mapping[str, str | int | float] | None) -> dict[str, int]:
    """A resource list in our integer units; the error names the resource."""
    parsed: dict[str, int] = {}
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
        if not decimals and whole and whole % factor == 0:
            return f"{whole // factor}{suffix}"
    return str(whole)


def format_resources(amounts: Mapping[str, int]) -> "ResourceList":
    """The reverse of `parse_resources`, in the order of names."""
    return {
        name: format_quantity(amounts[name], decimals=decimals_of(name)) for name in sorted(amounts)
    }
