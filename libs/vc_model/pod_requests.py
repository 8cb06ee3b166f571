"""What a pod asks for: one rule, for everybody who adds pods up.

All containers together with the sidecars, or the largest step of the start, whichever is more; what
the pod as a whole asks for stands in place of its containers' sum; the overhead comes on top. A
request that is absent is its limit. While a pod is resized in place, what it holds counts
(`vc_model.pod_resize`), which the watcher writes into its projection. Texts are read by the caller's own reader, because what becomes
of one that is no quantity differs: a refusal in admission, a problem of the pod in the scheduler.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from vc_model.pod import PodSpec
from vc_model.quantity import QuantityError, decimals_of, parse_quantity
from vc_model.struct import ResourceList

Amounts = dict[str, int]
Read = Callable[[ResourceList], Amounts]


class _Resources(Protocol):
    @property
    def requests(self) -> ResourceList: ...
    @property
    def limits(self) -> ResourceList: ...


class AskingContainer(Protocol):
    """A container, whichever struct it was decoded into."""

    @property
    def resources(self) -> _Resources: ...
    @property
    def restart_policy(self) -> str | None: ...


class AskingSpec(Protocol):
    """A pod's spec, whichever struct it was decoded into."""

    @property
    def containers(self) -> Sequence[AskingContainer]: ...
    @property
    def init_containers(self) -> Sequence[AskingContainer]: ...
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
    if isinstance(spec, PodSpec) and spec.held_requests:
        return read(spec.held_requests)
    total = containers_sum(spec, lambda container: asked(container.resources, read))
    total.update(asked(spec.resources, read))
    add(total, read(spec.overhead))
    return total


def containers_sum(spec: AskingSpec, each: Callable[[AskingContainer], Amounts]) -> Amounts:
    """All containers with the sidecars, or the largest step of the start, by what `each` counts for."""
    total: Amounts = {}
    for container in spec.containers:
        add(total, each(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        step = dict(sidecars)
        add(step, each(container))
        if container.restart_policy == "Always":
            sidecars = step
        raise_to(peak, step)
    add(total, sidecars)
    raise_to(total, peak)
    return total


def asked(resources: _Resources, read: Read) -> Amounts:
    """Requests, and limits where there is no request."""
    if not resources.limits:
        return read(resources.requests)
    return read({**resources.limits, **resources.requests})


def add(total: Amounts, more: Mapping[str, int]) -> None:
    """Add in place."""
    for resource, units in more.items():
        total[resource] = total.get(resource, 0) + units


def raise_to(floor: Amounts, other: Mapping[str, int]) -> None:
    """Each amount to at least the other's."""
    for resource, units in other.items():
        floor[resource] = max(floor.get(resource, 0), units)
