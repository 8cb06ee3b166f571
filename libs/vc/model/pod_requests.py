"""The effective requests of a pod; the one rule for all code that sums up pods.

The request is the sum of all containers and sidecars, or the largest step of the start, whichever
is larger. Pod-level requests replace the sum of the containers, and the overhead is added. A
missing request equals its limit. During an in-place resize the held amounts count
(`vc.model.pod_resize`), which the watcher writes into the projection. The caller passes a function
that parses amounts, because the handling of invalid quantities differs: admission rejects the
object, the scheduler records a problem of the pod.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from vc.model.api.pod import PodSpec
from vc.model.api.struct import ResourceList
from vc.model.values.quantity import QuantityError, decimals_of, parse_quantity
from vc.model.values.resources import Resources

Read = Callable[[ResourceList], Resources]


class _Requirements(Protocol):
    @property
    def requests(self) -> ResourceList: ...
    @property
    def limits(self) -> ResourceList: ...


class ContainerLike(Protocol):
    """A container, whichever struct it was decoded into."""

    @property
    def resources(self) -> _Requirements: ...
    @property
    def restart_policy(self) -> str | None: ...


class PodSpecLike(Protocol):
    """A pod's spec, whichever struct it was decoded into."""

    @property
    def containers(self) -> Sequence[ContainerLike]: ...
    @property
    def init_containers(self) -> Sequence[ContainerLike]: ...
    @property
    def resources(self) -> _Requirements: ...
    @property
    def overhead(self) -> ResourceList: ...


def read_known(amounts: ResourceList) -> Resources:
    """The valid amounts; invalid ones count as absent."""
    units = Resources()
    for resource, text in amounts.items():
        try:
            units[resource] = parse_quantity(text, decimals=decimals_of(resource))
        except QuantityError:
            continue
    return units


def pod_requests(spec: PodSpecLike, read: Read = read_known) -> Resources:
    """Requests by resource, in the units of `vc.model.values.quantity.decimals_of`."""
    # During a resize the node still holds more than the spec requests.
    if isinstance(spec, PodSpec) and spec.held_requests:
        return read(spec.held_requests)
    total = containers_sum(spec, lambda container: requests_of(container.resources, read))
    # Pod-level requests replace the sum of the containers, resource by resource.
    total.update(requests_of(spec.resources, read))
    total.add(read(spec.overhead))
    return total


def containers_sum(spec: PodSpecLike, each: Callable[[ContainerLike], Resources]) -> Resources:
    """All containers with the sidecars, or the largest step of the start, whichever is larger;
    `each` returns the amounts of a container.
    """
    total = Resources()
    for container in spec.containers:
        total.add(each(container))
    sidecars = Resources()
    peak = Resources()
    for container in spec.init_containers:
        # Init containers run one after the other, beside the sidecars started so far.
        step = sidecars + each(container)
        # A sidecar keeps running, so it counts in all later steps and beside the containers.
        if container.restart_policy == "Always":
            sidecars = step
        peak.raise_to(step)
    total.add(sidecars)
    total.raise_to(peak)
    return total


def requests_of(resources: _Requirements, read: Read) -> Resources:
    """The requests, and the limits of resources without a request."""
    if not resources.limits:
        return read(resources.requests)
    # The API server sets a missing request to the limit; templates on which it has not done so must
    # count the same.
    return read({**resources.limits, **resources.requests})
