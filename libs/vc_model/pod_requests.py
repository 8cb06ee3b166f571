"""What a pod asks for: one rule, for everybody who adds pods up.

All containers together with the sidecars, or the largest step of the start, whichever is more; what
the pod as a whole asks for stands in place of its containers' sum; the overhead comes on top. A
request that is absent is its limit. Texts are read by the caller's own reader, because what becomes
of one that is no quantity differs: a refusal in admission, a problem of the pod in the scheduler.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from vc_model.quantity import QuantityError, decimals_of, parse_quantity
from vc_model.struct import ResourceList

Amounts = dict[str, int]
Read = Callable[[ResourceList], Amounts]


class _Resources(Protocol):
    @property
    def requests(self) -> ResourceList: ...
    @property
    def limits(self) -> ResourceList: ...


class _Container(Protocol):
    @property
    def resources(self) -> _Resources: ...
    @property
    def restart_policy(self) -> str | None: ...


class AskingSpec(Protocol):
    """A pod's spec, whichever struct it was decoded into."""

    @property
    def containers(self) -> Sequence[_Container]: ...
    @property
    def init_containers(self) -> Sequence[_Container]: ...
    @property
    def resources(self) -> _Resources: ...
    @property
    def overhead(self) -> ResourceList: ...


def read_known(amounts: ResourceList) -> Amounts:
    """Amounts that can be read; the others count as absent."""
    units: Amounts = {}
    for resource, text in amounts.items():
        try:
            units[resource] = parse_quantity(text, decimals=decimals_of(resource))
        except QuantityError:
            continue
    return units


def pod_requests(spec: AskingSpec, read: Read = read_known) -> Amounts:
    """Per resource, in the units of `vc_model.quantity.decimals_of`."""
    total: Amounts = {}
    for container in spec.containers:
        add(total, _asked(container.resources, read))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        step = dict(sidecars)
        add(step, _asked(container.resources, read))
        if container.restart_policy == "Always":
            sidecars = step
        _raise(peak, step)
    add(total, sidecars)
    _raise(total, peak)
    total.update(_asked(spec.resources, read))
    add(total, read(spec.overhead))
    return total


def _asked(resources: _Resources, read: Read) -> Amounts:
    if not resources.limits:
        return read(resources.requests)
    return read({**resources.limits, **resources.requests})


def add(total: Amounts, more: Mapping[str, int]) -> None:
    """Add in place."""
    for resource, units in more.items():
        total[resource] = total.get(resource, 0) + units


def _raise(floor: Amounts, other: Mapping[str, int]) -> None:
    """Each amount to at least the other's."""
    for resource, units in other.items():
        floor[resource] = max(floor.get(resource, 0), units)
