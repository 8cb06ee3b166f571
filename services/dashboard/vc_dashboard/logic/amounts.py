"""What pods ask for and nodes have, in exact integers."""

from typing import Final

from vc_model.pod import Container, PodSpec
from vc_model.quantity import (
    MILLI,
    QuantityError,
    decimals_of,
    format_resources,
    parse_quantity,
)
from vc_model.struct import ResourceList

PODS: Final = "pods"
ONE_POD: Final = 10**MILLI

Amounts = dict[str, int]


def read(amounts: ResourceList) -> Amounts:
    """Amounts that can be read; the others count as absent."""
    units: Amounts = {}
    for resource, text in amounts.items():
        try:
            units[resource] = parse_quantity(text, decimals=decimals_of(resource))
        except QuantityError:
            continue
    return units


def add(total: Amounts, more: Amounts) -> None:
    """Add in place."""
    for resource, units in more.items():
        total[resource] = total.get(resource, 0) + units


def pod_amounts(spec: PodSpec) -> Amounts:
    """Containers together with sidecars, or the largest step of the start; and one pod."""
    running: Amounts = {}
    for container in spec.containers:
        add(running, _requests(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        wanted = dict(sidecars)
        add(wanted, _requests(container))
        if container.restart_policy == "Always":
            sidecars = wanted
        peak = {key: max(peak.get(key, 0), wanted.get(key, 0)) for key in peak | wanted}
    add(running, sidecars)
    total = {key: max(peak.get(key, 0), running.get(key, 0)) for key in peak | running}
    add(total, read(spec.overhead))
    total[PODS] = ONE_POD
    return total


def _requests(container: Container) -> Amounts:
    return {**read(container.resources.limits), **read(container.resources.requests)}


def shown(amounts: Amounts) -> ResourceList:
    """As people write them."""
    return format_resources(amounts)
