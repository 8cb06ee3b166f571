"""The resources that a pod holds on its node during an in-place resize.

Until the kubelet has applied a new spec, a pod may hold more than it requests: a container that
shrinks keeps its old share until then. As in kube-scheduler, the largest of three amounts counts
per container and resource: the request in the spec, what the node has allocated
(`allocatedResources`), and what the container runs with (`resources`). A resize that the kubelet
found infeasible does not count: a pod that requests more than its node has holds no more than
before.

The watcher stores the result in the projection, if it differs from the spec, and drops the fields
it was derived from, because kubelets write both lists for every container of every pod.
"""

from typing import Final

import msgspec

from vc.model.api.pod import ContainerStatus, Pod, PodStatus
from vc.model.api.struct import ResourceList
from vc.model.pod_requests import (
    ContainerLike,
    containers_sum,
    pod_requests,
    read_known,
    requests_of,
)
from vc.model.values.quantity import format_resources
from vc.model.values.resources import Resources

RESIZE_PENDING: Final = "PodResizePending"
INFEASIBLE: Final = "Infeasible"
_OVER: Final = frozenset({"Succeeded", "Failed"})


def with_held_requests(pod: Pod) -> Pod:
    """The projection of a pod: `spec.heldRequests` if it differs from the spec,
    without the fields it was derived from.
    """
    held = _held_requests(pod)
    # Most pods are not being resized, and need no copy.
    if held != pod.spec.held_requests:
        spec = msgspec.structs.replace(pod.spec, held_requests=held)
        pod = msgspec.structs.replace(pod, spec=spec)
    return _without_sources(pod)


def _held_requests(pod: Pod) -> ResourceList:
    status = pod.status
    # Only a pod that is bound and not finished holds resources on a node.
    if not pod.spec.node_name or status.phase in _OVER or not _has_sources(status):
        return {}
    # An earlier result must not be an input of the new one.
    bare = msgspec.structs.replace(pod.spec, held_requests={})
    wanted = pod_requests(bare)
    # Kubernetes requires names to be unique over both lists of containers, so one table is enough.
    statuses = {s.name: s for s in (*status.init_container_statuses, *status.container_statuses)}
    # The kubelet will not apply such a resize, so the new requests do not count.
    infeasible = any(
        c.type == RESIZE_PENDING and c.status == "True" and c.reason == INFEASIBLE
        for c in status.conditions
    )

    def each(container: ContainerLike) -> Resources:
        return _of_container(container, statuses, infeasible=infeasible)

    total = containers_sum(bare, each)
    whole = requests_of(bare.resources, read_known)
    # Pod-level resources replace the sum of the containers for the resources that they name.
    holds = _largest(status)
    total.update(_held(whole, holds.only(whole), infeasible=infeasible))
    total.add(read_known(bare.overhead))
    # Publish only a difference: the field is empty for almost all pods.
    return format_resources(total) if total != wanted else {}


def _of_container(
    container: ContainerLike, statuses: dict[str, ContainerStatus], *, infeasible: bool
) -> Resources:
    wanted = requests_of(container.resources, read_known)
    known = statuses.get(getattr(container, "name", ""))
    # Without a status the node reports nothing about the container, so its request counts.
    return wanted if known is None else _held(wanted, _largest(known), infeasible=infeasible)


def _held(wanted: Resources, holds: Resources, *, infeasible: bool) -> Resources:
    if infeasible:
        # The kubelet refused the new request, so what it reports replaces it; only resources
        # without a report keep the request.
        return Resources({**wanted, **holds})
    return holds.largest(wanted)


def _largest(known: ContainerStatus | PodStatus) -> Resources:
    """The larger of the allocated and the used amounts, by resource."""
    holds = read_known(known.allocated_resources)
    if known.resources is not None:
        holds.raise_to(requests_of(known.resources, read_known))
    return holds


def _has_sources(status: PodStatus) -> bool:
    listed: tuple[PodStatus | ContainerStatus, ...] = (
        status,
        *status.container_statuses,
        *status.init_container_statuses,
    )
    return any(part.resources is not None or part.allocated_resources for part in listed)


def _without_sources(pod: Pod) -> Pod:
    status = pod.status
    if not _has_sources(status):
        return pod
    bare = msgspec.structs.replace(
        status,
        allocated_resources={},
        resources=None,
        container_statuses=[_bare(each) for each in status.container_statuses],
        init_container_statuses=[_bare(each) for each in status.init_container_statuses],
    )
    return msgspec.structs.replace(pod, status=bare)


def _bare(status: ContainerStatus) -> ContainerStatus:
    return msgspec.structs.replace(status, allocated_resources={}, resources=None)
