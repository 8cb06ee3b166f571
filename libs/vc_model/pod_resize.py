"""What a pod holds on its node while it is resized in place.

Between the new spec and the kubelet having applied it a pod may hold more than it asks for: a container
that is to shrink keeps its old share until it has shrunk. So, as for kube-scheduler, the largest of three
counts per container and resource: what the spec asks for, what the node has set aside
(`allocatedResources`), what the container runs with (`resources`). A resize that the kubelet found
infeasible does not count: a pod that asks for more than its node has holds no more than before.

The watcher puts the result into the projection, where it differs, and drops what it was made of:
kubelets write both lists for every container of every pod.
"""

from typing import Final

import msgspec

from vc_model.pod import ContainerStatus, Pod, PodStatus
from vc_model.pod_requests import (
    Amounts,
    AskingContainer,
    add,
    asked,
    containers_sum,
    pod_requests,
    raise_to,
    read_known,
)
from vc_model.quantity import format_resources
from vc_model.struct import ResourceList

RESIZE_PENDING: Final = "PodResizePending"
INFEASIBLE: Final = "Infeasible"
_OVER: Final = frozenset({"Succeeded", "Failed"})


def with_held_requests(pod: Pod) -> Pod:
    """The projection: `spec.heldRequests` where it says something else than the spec, and nothing of what
    it was derived from."""
    held = _held_requests(pod)
    if held != pod.spec.held_requests:
        spec = msgspec.structs.replace(pod.spec, held_requests=held)
        pod = msgspec.structs.replace(pod, spec=spec)
    return _without_sources(pod)


def _held_requests(pod: Pod) -> ResourceList:
    status = pod.status
    if not pod.spec.node_name or status.phase in _OVER or not _has_sources(status):
        return {}
    bare = msgspec.structs.replace(pod.spec, held_requests={})
    wanted = pod_requests(bare)
    statuses = {s.name: s for s in (*status.init_container_statuses, *status.container_statuses)}
    infeasible = any(
        c.type == RESIZE_PENDING and c.status == "True" and c.reason == INFEASIBLE
        for c in status.conditions
    )

    def each(container: AskingContainer) -> Amounts:
        return _of_container(container, statuses, infeasible=infeasible)

    total = containers_sum(bare, each)
    whole = asked(bare.resources, read_known)
    holds = _largest(status)
    total.update(
        _held(whole, {k: v for k, v in holds.items() if k in whole}, infeasible=infeasible)
    )
    add(total, read_known(bare.overhead))
    return format_resources(total) if total != wanted else {}


def _of_container(
    container: AskingContainer, statuses: dict[str, ContainerStatus], *, infeasible: bool
) -> Amounts:
    wanted = asked(container.resources, read_known)
    known = statuses.get(getattr(container, "name", ""))
    return wanted if known is None else _held(wanted, _largest(known), infeasible=infeasible)


def _held(wanted: Amounts, holds: Amounts, *, infeasible: bool) -> Amounts:
    if infeasible:
        return {**wanted, **holds}
    raise_to(holds, wanted)
    return holds


def _largest(known: ContainerStatus | PodStatus) -> Amounts:
    """Of what is set aside and what is in use."""
    holds = read_known(known.allocated_resources)
    if known.resources is not None:
        raise_to(holds, asked(known.resources, read_known))
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
