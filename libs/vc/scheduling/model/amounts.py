"""Requests of pods and resources of nodes, as bounded integers.

Every amount in the node table is parsed here. A text that is not a quantity, a negative amount or
one above `AMOUNT_MAX` is a *problem*: a sentence attached to the object, never an exception, so
that one invalid manifest cannot stop a session. The bound ensures that the sum over the pods of a
node fits int64.
"""

from collections.abc import Mapping
from typing import Final

from vc.model.api.pod import PodSpec
from vc.model.faults import describe
from vc.model.pod_requests import pod_requests
from vc.model.values.human_amounts import human_amount
from vc.model.values.quantity import QuantityError, decimals_of, parse_quantity
from vc.model.values.resources import Resources

AMOUNT_MAX: Final = 2**53
"""8 PiB, or nine million million CPUs. It exceeds real clusters, and the sum of 1,024 such amounts
fits int64."""

PODS: Final = "pods"
POD_UNITS: Final = 1000
"""One pod in the unit of the resource `pods`, in thousandths like every countable resource."""

NOT_REQUESTED: Final = frozenset({PODS})
"""Resources that a best-effort pod may have in its request."""

PROBLEM_MAX: Final = 300
"""The maximum number of characters of a problem that stems from an exception."""

Amounts = dict[str, int]
"""Amounts that are only read. Sums are made with `Resources`, which is such a dictionary."""


class Problems:
    """Collects the problems of one object."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)

    def __str__(self) -> str:
        return "; ".join(sorted(set(self._texts)))


def unreadable(error: Exception) -> str:
    """The problem of an object that could not be parsed."""
    return f"cannot be read: {type(error).__name__}: {describe(error)}"[:PROBLEM_MAX]


def read_amounts(written: Mapping[str, str | int | float] | None, problems: Problems) -> Resources:
    """A resource list as integers. Unreadable amounts are left out, amounts out of range are
    clamped, and both are reported as problems."""
    amounts = Resources()
    for name, text in (written or {}).items():
        try:
            amount = parse_quantity(text, decimals=decimals_of(name))
        except QuantityError as error:
            problems.add(f"{name}: {error}")
            continue
        if not 0 <= amount <= AMOUNT_MAX:
            problems.add(f"{name}: {text!s:.64} is out of range")
            # A pod with a problem still counts on its node, so its amounts must stay within bounds.
            amount = max(0, min(amount, AMOUNT_MAX))
        amounts[name] = amount
    return amounts


def pod_request(spec: PodSpec, problems: Problems) -> Resources:
    """The effective request, bounded. Resources with amount 0 are left out."""
    running = pod_requests(spec, lambda written: read_amounts(written, problems))
    request = Resources(
        (name, min(amount, AMOUNT_MAX)) for name, amount in running.items() if amount
    )
    # Every pod counts against the pod limit of its node.
    request[PODS] = POD_UNITS
    return request


def shown(resource: str, amount: int) -> str:
    """An amount for messages: `cpu 40`, `memory 16Gi`."""
    return f"{resource} {human_amount(resource, amount)}"


def shown_all(amounts: Mapping[str, int]) -> str:
    """Several amounts for messages, sorted by name and without `pods`."""
    listed = [shown(name, amounts[name]) for name in sorted(amounts) if name != PODS]
    return ", ".join(listed) or "nothing but a place"
