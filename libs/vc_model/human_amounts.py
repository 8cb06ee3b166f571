"""Amounts of resources as people write them: `cpu 76.8`, `memory 15.25Gi`, `nvidia.com/gpu 8`.

The one function for every table, sentence and page. Kubernetes' canonical text is exact and made for
machines: it writes `76800m` GPUs, and bytes that are no multiple of 1024 as a row of digits. Here
counts and cores are plain decimal numbers, which are exact, and bytes have the largest binary suffix with
at most two decimals. Where bytes must be rounded they are rounded down, so that what is free is never
overstated; `up` is for what is missing, so that it is never understated. Each text is itself a
Kubernetes quantity.
"""

from collections.abc import Mapping
from typing import Final

from vc_model.quantity import QuantityError, decimals_of, parse_quantity

_SUFFIXES: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_STEP: Final = 1024
_HUNDRED: Final = 100
_WHOLE_MAX: Final = 10_000
"""A whole number of a smaller suffix is preferred to a rounded one up to here: 8000Mi, not 7.81Gi."""


def human_amount(resource: str, units: int, *, up: bool = False) -> str:
    """An amount in the integer unit of its resource (`vc_model.quantity.decimals_of`)."""
    if units < 0:
        return f"-{human_amount(resource, -units, up=not up)}"
    decimals = decimals_of(resource)
    return _decimal(units, decimals) if decimals else _bytes(units, up=up)


def human_quantity(resource: str, text: str | float, *, up: bool = False) -> str:
    """A quantity as Kubernetes writes it; what is none stays as it is."""
    try:
        return human_amount(resource, parse_quantity(text, decimals=decimals_of(resource)), up=up)
    except QuantityError:
        return str(text)


def human_quantities(amounts: Mapping[str, str | int | float]) -> dict[str, str]:
    """A resource list, in the order of names."""
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
        if units * _HUNDRED % factor:
            smaller = factor // _STEP
            if units % smaller == 0 and units // smaller < _WHOLE_MAX:
                return f"{units // smaller}{(*_SUFFIXES, '')[index + 1]}"
        hundredths = -(-units * _HUNDRED // factor) if up else units * _HUNDRED // factor
        return f"{_decimal(hundredths, 2)}{suffix}"
    return str(units)
