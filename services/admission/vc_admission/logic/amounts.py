"""Quantities in manifests, checked and compared in exact integers."""

from collections.abc import Mapping

from vc_admission.logic.findings import Findings
from vc_model.human_amounts import human_amount
from vc_model.quantity import QuantityError, decimals_of, parse_quantity
from vc_model.struct import ResourceList

Amounts = dict[str, int]


def read_amounts(found: Findings, path: str, amounts: ResourceList) -> Amounts:
    """The amounts that can be read; the others, and negative ones, are refused."""
    read: Amounts = {}
    for resource, text in amounts.items():
        try:
            units = parse_quantity(text, decimals=decimals_of(resource))
        except QuantityError as error:
            found.refuse(f"{path}[{resource}]", str(error))
            continue
        if units < 0:
            found.refuse(f"{path}[{resource}]", "must not be negative; write 0 or more", value=text)
            continue
        read[resource] = units
    return read


def known_amounts(amounts: ResourceList) -> Amounts:
    """The amounts of an object that was admitted before; what cannot be read counts as absent."""
    return read_amounts(Findings(), "", amounts)


def text(resource: str, units: int) -> str:
    """An amount as people write it."""
    return human_amount(resource, units)


def sum_amounts(amounts: list[Amounts]) -> Amounts:
    """Per resource, over all."""
    total: Amounts = {}
    for each in amounts:
        for resource, units in each.items():
            total[resource] = total.get(resource, 0) + units
    return total


def excess(wanted: Mapping[str, int], limit: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Resource, wanted, limit: where more is wanted than is allowed; a missing limit is zero."""
    return [
        (resource, wanted[resource], limit.get(resource, 0))
        for resource in sorted(wanted)
        if wanted[resource] > limit.get(resource, 0)
    ]
