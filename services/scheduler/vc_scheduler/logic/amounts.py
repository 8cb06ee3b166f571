"""What a pod asks for and what a node gives, as bounded integers.

Everything that enters the columns passes here. A text that is no quantity, a negative amount or one
beyond `AMOUNT_MAX` is a *problem*: a sentence that goes with the object, never an exception, so that
one bad manifest cannot stop a session. The bound leaves int64 room for the sum of a node's pods.
"""

from collections.abc import Mapping
from typing import Final

from vc_model.faults import describe
from vc_model.human_amounts import human_amount
from vc_model.pod import PodSpec
from vc_model.pod_requests import pod_requests
from vc_model.quantity import QuantityError, decimals_of, parse_quantity

AMOUNT_MAX: Final = 2**53
"""8 PiB, or nine million million CPUs: more than anybody has, and 1,024 of them still add up."""

PODS: Final = "pods"
POD_UNITS: Final = 1000
"""One pod in the unit of the resource `pods` (milli, as every countable resource)."""

NOT_REQUESTED: Final = frozenset({PODS})
"""Resources that do not make a pod less than best-effort."""

PROBLEM_MAX: Final = 300
"""Characters of a problem that an exception is made into."""

Amounts = dict[str, int]


class Problems:
    """Collects what is wrong with one object."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)

    def __str__(self) -> str:
        return "; ".join(sorted(set(self._texts)))


def unreadable(error: Exception) -> str:
    """The problem of an object that made its reader raise."""
    return f"cannot be read: {type(error).__name__}: {describe(error)}"[:PROBLEM_MAX]


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
    """The effective request, bounded; what is not requested is left out."""
    running = pod_requests(spec, lambda written: read_amounts(written, problems))
    request = {name: min(amount, AMOUNT_MAX) for name, amount in running.items() if amount}
    request[PODS] = POD_UNITS
    return request


def shown(resource: str, amount: int) -> str:
    """An amount for people: `cpu 40`, `memory 16Gi`."""
    return f"{resource} {human_amount(resource, amount)}"


def shown_all(amounts: Mapping[str, int]) -> str:
    """Several amounts for people, by name; how many pods there are is said elsewhere."""
    listed = [shown(name, amounts[name]) for name in sorted(amounts) if name != PODS]
    return ", ".join(listed) or "nothing but a place"
