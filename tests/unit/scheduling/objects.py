"""Builders of API objects for tables and cluster literals."""

from collections.abc import Iterable, Mapping
from typing import Final

from vc.model.api import kinds
from vc.model.api.images import ContainerImage
from vc.model.api.keys import COMPLETED_MEMBERS, OVERUSE_TOLERANCE
from vc.model.api.meta import ApiObject, ObjectMeta, OwnerReference
from vc.model.api.node import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from vc.model.api.pod import (
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    SchedulingGate,
    Toleration,
    TopologySpreadConstraint,
)
from vc.model.api.scheduling import (
    Guarantee,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PriorityClass,
    Queue,
    QueueSpec,
    QueueStatus,
)
from vc.model.api.struct import JsonObject, ResourceList
from vc.model.values.times import format_time

EPOCH: Final = 1_800_000_000.0
"""The wall time at which worlds begin."""

GROUP: Final = "scheduling.k8s.io/group-name"
TASK: Final = "volcano.sh/task-spec"


def node(
    name: str,
    *,
    cpu: str | int = 64,
    memory: str = "512Gi",
    pods: int = 110,
    gpu: int = 0,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    ready: bool = True,
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
) -> Node:
    """A node; by default as the embedded cluster makes them."""
    allocatable: ResourceList = {"cpu": str(cpu), "memory": memory, "pods": str(pods)}
    if gpu:
        allocatable["nvidia.com/gpu"] = str(gpu)
    return Node(
        metadata=ObjectMeta(name=name, uid=f"node-{name}", labels=dict(labels or {})),
        spec=NodeSpec(unschedulable=unschedulable, taints=list(taints)),
        status=NodeStatus(
            allocatable=allocatable,
            capacity=allocatable,
            conditions=[NodeCondition(type="Ready", status="True" if ready else "False")],
            images=[ContainerImage(names=[n], size_bytes=s) for n, s in (images or {}).items()],
        ),
    )


def nodes(count: int, *, prefix: str = "node", cpu: str | int = 64, gpu: int = 0) -> list[Node]:
    """Equal nodes."""
    return [node(f"{prefix}-{n:02}", cpu=cpu, gpu=gpu) for n in range(1, count + 1)]


def queue(
    name: str = "default",
    *,
    capability: ResourceList | None = None,
    state: str = "Open",
    weight: int = 1,
    priority: int = 0,
    parent: str = "",
    reclaimable: bool | None = None,
    guarantee: ResourceList | None = None,
    deserved: ResourceList | None = None,
    tolerance: str = "",
    fifo: bool = False,
) -> Queue:
    """A queue."""
    return Queue(
        metadata=ObjectMeta(
            name=name,
            uid=f"queue-{name}",
            annotations={OVERUSE_TOLERANCE: tolerance} if tolerance else {},
        ),
        spec=QueueSpec(
            capability=capability or {},
            weight=weight,
            priority=priority,
            parent=parent,
            reclaimable=reclaimable,
            guarantee=Guarantee(resource=guarantee or {}),
            deserved=deserved or {},
            dequeue_strategy="fifo" if fifo else "traverse",
        ),
        status=QueueStatus(state=state),
    )


def priority_class(name: str, value: int, *, default: bool = False) -> PriorityClass:
    """A priority class."""
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, global_default=default)


def group(
    name: str,
    *,
    minimum: int,
    queue: str = "default",
    phase: str = "Inqueue",
    priority_class: str = "",
    roles: Mapping[str, int] | None = None,
    min_resources: ResourceList | None = None,
    age: int = 0,
    completed: str = "",
) -> PodGroup:
    """A pod group; `age` in seconds before the world begins, older goes first. `completed` notes members that
    have succeeded and whose pods are gone."""
    return PodGroup(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            uid=f"group-{name}",
            creation_timestamp=format_time(EPOCH - 3600 - age),
            annotations={COMPLETED_MEMBERS: completed} if completed else {},
        ),
        spec=PodGroupSpec(
            min_member=minimum,
            min_task_member=dict(roles or {}),
            queue=queue,
            priority_class_name=priority_class,
            min_resources=min_resources,
        ),
        status=PodGroupStatus(phase=phase),
    )


def pod(
    name: str,
    *,
    group: str = "",
    role: str = "",
    requests: ResourceList | None = None,
    limits: ResourceList | None = None,
    on: str = "",
    phase: str = "",
    selector: Mapping[str, str] | None = None,
    affinity: JsonObject | None = None,
    tolerations: Iterable[Toleration] = (),
    gates: Iterable[str] = (),
    scheduler: str = "volcano",
    priority: int | None = None,
    deleting: bool = False,
    controlled: bool = True,
    labels: Mapping[str, str] | None = None,
    namespace: str = "ns",
    spread: Iterable[TopologySpreadConstraint] = (),
    host_ports: Iterable[int] = (),
    annotations: Mapping[str, str] | None = None,
    pod_priority_class: str = "",
    preemption_policy: str | None = None,
    image: str = "",
    created: float | None = None,
) -> Pod:
    """A pod; bound when `on` names a node."""
    owner = OwnerReference(
        api_version=kinds.JOBS.api_version, kind="Job", name="j", uid="u", controller=True
    )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"pod-{name}",
            creation_timestamp=None if created is None else format_time(created),
            annotations={**({GROUP: group} if group else {}), **(annotations or {})},
            labels={**({TASK: role} if role else {}), **(labels or {})},
            deletion_timestamp=format_time(EPOCH) if deleting else None,
            owner_references=[owner] if controlled else [],
        ),
        spec=PodSpec(
            containers=[
                Container(
                    image=image,
                    resources=ResourceRequirements(requests=requests or {}, limits=limits or {}),
                    ports=[ContainerPort(container_port=n, host_port=n) for n in host_ports],
                )
            ],
            node_name=on,
            scheduler_name=scheduler,
            priority=priority,
            priority_class_name=pod_priority_class,
            preemption_policy=preemption_policy,
            node_selector=dict(selector or {}),
            affinity=affinity,
            tolerations=list(tolerations),
            topology_spread_constraints=list(spread),
            scheduling_gates=[SchedulingGate(name=gate) for gate in gates],
        ),
        status=PodStatus(phase=phase or ("Running" if on else "Pending")),
    )


def gang(
    name: str,
    count: int,
    *,
    minimum: int | None = None,
    queue: str = "default",
    priority_class: str = "",
    phase: str = "Inqueue",
    age: int = 0,
    role: str = "worker",
    min_resources: ResourceList | None = None,
    **requests: str | int,
) -> list[ApiObject]:
    """A pod group and its equal pods: `gang("a", 9, cpu=40)`."""
    asked: ResourceList = {k.replace("gpu", "nvidia.com/gpu"): str(v) for k, v in requests.items()}
    least = count if minimum is None else minimum
    members = [
        pod(f"{name}-{role}-{n}", group=name, role=role, requests=asked) for n in range(count)
    ]
    return [
        group(
            name,
            minimum=least,
            queue=queue,
            priority_class=priority_class,
            phase=phase,
            age=age,
            min_resources=min_resources,
        ),
        *members,
    ]
