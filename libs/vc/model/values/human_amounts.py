"""Amounts of resources for display: `cpu 76.8`, `memory 15.25Gi`, `nvidia.com/gpu 8`.

This is used for every table, sentence and page. Kubernetes' canonical form is exact and made for
machines: it writes `76800m` GPUs, and bytes that are no multiple of 1024 as a long number. Here
counts and cores are exact decimal numbers, and bytes have the largest binary suffix with at most
two decimals. Bytes are rounded down, so that free amounts are never overstated; `up` rounds up, so
that missing amounts are never understated. Each text is a valid Kubernetes quantity.
"""

from collections.abc import Mapping
from typing import Final

from vc.model.values.quantity import QuantityError, decimals_of, parse_quantity

_SUFFIXES: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_STEP: Final = 1024
_HUNDRED: Final = 100
_WHOLE_MAX: Final = 10_000
"""Up to this number an exact integer with a smaller suffix is preferred: 8000Mi, not 7.81Gi."""


def human_amount(resource: str, units: int, *, up: bool = False) -> str:
    """The text of an amount in the integer unit of its resource
    (`vc.model.values.quantity.decimals_of`).
    """
    if units < 0:
        # Rounding is mirrored, so that a negative amount is not overstated either.
        return f"-{human_amount(resource, -units, up=not up)}"
    decimals = decimals_of(resource)
    return _decimal(units, decimals) if decimals else _bytes(units, up=up)


def human_quantity(resource: str, text: str | float, *, up: bool = False) -> str:
    """The text of a quantity in Kubernetes' form; an invalid quantity is returned unchanged."""
    try:
        return human_amount(resource, parse_quantity(text, decimals=decimals_of(resource)), up=up)
    except QuantityError:
        return str(text)


def human_quantities(amounts: Mapping[str, str | int | float]) -> dict[str, str]:
    """A resource list, sorted by name."""
    return {name: human_quantity(name, amounts[name]) for name in sorted(amounts)}


def _decimal(units: int, decimals: int) -> str:
    whole, rest = divmod(units, 10**decimals)
    fraction = str(rest).rjust(decimals, "0").rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)


def _bytes(units: int, *, up: bool) -> str:
    for index, suffix in enumerate(_SUFFIXES):
        factor = _STEP ** (len(_SUFFIXES) - index)
        if units < factor:
            continue
        # Two decimals would round; an exact number of the next smaller unit is preferred.
        if units * _HUNDRED % factor:
            smaller = factor // _STEP
            if units % smaller == 0 and units // smaller < _WHOLE_MAX:
                return f"{units // smaller}{(*_SUFFIXES, '')[index + 1]}"
        hundredths = -(-units * _HUNDRED // factor) if up else units * _HUNDRED // factor
        return f"{_decimal(hundredths, 2)}{suffix}"
    return str(units)
