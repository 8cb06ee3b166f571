"""The effective requests of a pod; the one rule for all code that sums up pods.

The request is the sum of all containers and sidecars, or the largest step of the start, whichever
is larger. Pod-level requests replace the sum of the containers, and the overhead is added. A
missing request equals its limit. During an in-place resize the held amounts count
(`vc.model.pod_resize`), which the watcher writes into the projection. The caller passes a function
that parses amounts, because the handling of invalid quantities differs: admission rejects the
object, the scheduler records a problem of the pod.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from vc.model.api.pod import PodSpec
from vc.model.api.struct import ResourceList
from vc.model.values.quantity import QuantityError, decimals_of, parse_quantity

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
    """The valid amounts; invalid ones count as absent."""
    units: Amounts = {}
    for resource, text in amounts.items():
        try:
            units[resource] = parse_quantity(text, decimals=decimals_of(resource))
        except QuantityError:
            continue
    return units


def pod_requests(spec: AskingSpec, read: Read = read_known) -> Amounts:
    """Requests by resource, in the units of `vc.model.values.quantity.decimals_of`."""
    # During a resize the node still holds more than the spec requests.
    if isinstance(spec, PodSpec) and spec.held_requests:
        return read(spec.held_requests)
    total = containers_sum(spec, lambda container: asked(container.resources, read))
    # Pod-level requests replace the sum of the containers, resource by resource.
    total.update(asked(spec.resources, read))
    add(total, read(spec.overhead))
    return total


def containers_sum(spec: AskingSpec, each: Callable[[AskingContainer], Amounts]) -> Amounts:
    """All containers with the sidecars, or the largest step of the start, whichever is larger;
    `each` returns the amounts of a container.
    """
    total: Amounts = {}
    for container in spec.containers:
        add(total, each(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        # Init containers run one after the other, beside the sidecars started so far.
        step = dict(sidecars)
        add(step, each(container))
        # A sidecar keeps running, so it counts in all later steps and beside the containers.
        if container.restart_policy == "Always":
            sidecars = step
        raise_to(peak, step)
    add(total, sidecars)
    raise_to(total, peak)
    return total


def asked(resources: _Resources, read: Read) -> Amounts:
    """The requests, and the limits of resources without a request."""
    if not resources.limits:
        return read(resources.requests)
    return read({**resources.limits, **resources.requests})


def add(total: Amounts, more: Mapping[str, int]) -> None:
    """Add amounts to a total in place."""
    for resource, units in more.items():
        total[resource] = total.get(resource, 0) + units


def raise_to(floor: Amounts, other: Mapping[str, int]) -> None:
    """Raise each amount in place to at least the other's."""
    for resource, units in other.items():
        floor[resource] = max(floor.get(resource, 0), units)
