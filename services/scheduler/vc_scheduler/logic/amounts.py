"""What a pod asks for and what a node gives, as bounded integers.

Everything that enters the columns passes here. A text that is no quantity, a negative amount or one
beyond `AMOUNT_MAX` is a *problem*: a sentence that goes with the object, never an exception, so that
one bad manifest cannot stop a session. The bound leaves int64 room for the sum of a node's pods.
"""

from collections.abc import Mapping
from typing import Final

from vc_model.pod import Container, PodSpec
from vc_model.quantity import QuantityError, decimals_of, format_quantity, parse_quantity
from vc_model.struct import ResourceList

AMOUNT_MAX: Final = 2**53
"""8 PiB, or nine million million CPUs: more than anybody has, and 1,024 of them still add up."""

PODS: Final = "pods"
POD_UNITS: Final = 1000
"""One pod in the unit of the resource `pods` (milli, as every countable resource)."""

NOT_REQUESTED: Final = frozenset({PODS})
"""Resources that do not make a pod less than best-effort."""

Amounts = dict[str, int]


class Problems:
    """Collects what is wrong with one object."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)

    def __str__(self) -> str:
        return "; ".join(sorted(set(self._texts)))


def read_amounts(written: Mapping[str, str | int | float] | None, problems: Problems) -> Amounts:
    """A resource list as integers; what cannot be used is left out and told."""
    amounts: Amounts = {}
    for name, text in (written or {}).items():
        try:
            amount = parse_quantity(text, decimals=decimals_of(name))
        except QuantityError as error:
            problems.add(f"{name}: {error}")
            continue
        if not 0 <= amount <= AMOUNT_MAX:
            problems.add(f"{name}: {text!s:.64} is out of range")
            amount = max(0, min(amount, AMOUNT_MAX))
        amounts[name] = amount
    return amounts


def pod_request(spec: PodSpec, problems: Problems) -> Amounts:
    """The effective request: the larger of what runs together and the peak while starting.

    Sidecars (init containers that restart always) stay, so they add to both. A container that only
    has limits requests its limits.
    """
    running: Amounts = {}
    for container in spec.containers:
        _add(running, _container_request(container, problems))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        request = _container_request(container, problems)
        if container.restart_policy == "Always":
            _add(sidecars, request)
            _raise(peak, sidecars)
        else:
            _raise(peak, _sum(sidecars, request))
    _add(running, sidecars)
    _raise(running, peak)
    _add(running, read_amounts(spec.overhead, problems))
    request = {name: min(amount, AMOUNT_MAX) for name, amount in running.items() if amount}
    request[PODS] = POD_UNITS
    return request


def _container_request(container: Container, problems: Problems) -> Amounts:
    resources = container.resources
    if not resources.limits:
        return read_amounts(resources.requests, problems)
    merged: ResourceList = {**resources.limits, **resources.requests}
    return read_amounts(merged, problems)


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _sum(left: Mapping[str, int], right: Mapping[str, int]) -> Amounts:
    total = dict(left)
    _add(total, right)
    return total


def _raise(floor: Amounts, other: Mapping[str, int]) -> None:
    """Each amount to at least the other's."""
    for name, amount in other.items():
        floor[name] = max(floor.get(name, 0), amount)


def shown(resource: str, amount: int) -> str:
    """An amount for people: `cpu 40`, `memory 16Gi`."""
    return f"{resource} {format_quantity(amount, decimals=decimals_of(resource))}"


def shown_all(amounts: Mapping[str, int]) -> str:
    """Several amounts for people, by name; how many pods there are is said elsewhere."""
    listed = [shown(name, amounts[name]) for name in sorted(amounts) if name != PODS]
    return ", ".join(listed) or "nothing but a place"
