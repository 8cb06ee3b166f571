"""Quantities in manifests, checked and compared as exact integers."""

from collections.abc import Mapping

from vc.model.api.struct import ResourceList
from vc.model.values.human_amounts import human_amount
from vc.model.values.quantity import QuantityError, decimals_of, parse_quantity
from vc.model.values.resources import Resources
from vc.validation.result import ValidationResult


def read_amounts(found: ValidationResult, path: str, amounts: ResourceList) -> Resources:
    """The valid amounts. Invalid and negative ones are refused."""
    read = Resources()
    for resource, text in amounts.items():
        try:
            units = parse_quantity(text, decimals=decimals_of(resource))
        except QuantityError as error:
            found.refuse(f"{path}[{resource}]", str(error))
            continue
        # A negative amount would lower the sums over siblings.
        if units < 0:
            found.refuse(f"{path}[{resource}]", "must not be negative; write 0 or more", value=text)
            continue
        read[resource] = units
    return read


def known_amounts(amounts: ResourceList) -> Resources:
    """The amounts of an object that was admitted before. Invalid amounts count as absent."""
    return read_amounts(ValidationResult(), "", amounts)


def text(resource: str, units: int) -> str:
    """An amount in human-readable form."""
    return human_amount(resource, units)


def excess(wanted: Resources, limit: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Resource, wanted amount and limit wherever the limit is exceeded. A missing limit is zero."""
    return [
        (resource, wanted[resource], limit.get(resource, 0))
        for resource in sorted(wanted.missing_in(limit))
    ]
