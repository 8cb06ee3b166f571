"""Objects for the tests of remedies, in a few words each; `scene` is a cluster that remedies change."""

from collections.abc import Iterable, Mapping, Sequence

from vc.model.api.keys import GROUP_NAME, TASK_SPEC
from vc.model.api.kubernetes import PodDisruptionBudget, ResourceQuota, ResourceQuotaStatus
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.node import Node, NodeCondition, NodeStatus
from vc.model.api.pod import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from vc.model.api.scheduling import (
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PriorityClass,
    Queue,
    QueueSpec,
    QueueStatus,
)
from vc.model.api.struct import ResourceList
from vc.scheduling.conf.model import Conf
from vc.scheduling.explain.candidates import Candidates
from vc.scheduling.explain.simulation import Scene, Snapshot

NOW = 1_800_000_000.0


def node(name: str, cpu: int, labels: Mapping[str, str] | None = None) -> Node:
    allocatable: ResourceList = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
    return Node(
        metadata=ObjectMeta(name=name, uid=f"node-{name}", labels=dict(labels or {})),
        status=NodeStatus(
            allocatable=allocatable,
            capacity=allocatable,
            conditions=[NodeCondition(type="Ready", status="True")],
        ),
    )


def queue(
    name: str = "default",
    *,
    parent: str = "",
    weight: int = 1,
    capability: ResourceList | None = None,
    reclaimable: bool | None = None,
) -> Queue:
    spec = QueueSpec(
        parent=parent, weight=weight, capability=capability or {}, reclaimable=reclaimable
    )
    metadata = ObjectMeta(name=name, uid=f"queue-{name}")
    return Queue(metadata=metadata, spec=spec, status=QueueStatus(state="Open"))


def priority_class(name: str, value: int, *, default: bool = False) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, global_default=default)


def quota(name: str, namespace: str, cpu: str) -> ResourceQuota:
    hard: ResourceList = {"requests.cpu": cpu}
    metadata = ObjectMeta(name=name, namespace=namespace)
    return ResourceQuota(metadata=metadata, status=ResourceQuotaStatus(hard=hard))


def budget(name: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(metadata=ObjectMeta(name=name, namespace="ns"))


def group(
    name: str,
    minimum: int,
    *,
    queue: str = "default",
    priority: str = "",
    resources: ResourceList | None = None,
    tasks: Mapping[str, int] | None = None,
) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace="ns", uid=f"group-{name}"),
        spec=PodGroupSpec(
            min_member=minimum,
            min_task_member=dict(tasks or {}),
            queue=queue,
            priority_class_name=priority,
            min_resources=resources,
        ),
        status=PodGroupStatus(phase="Pending"),
    )


def pods(
    of: str,
    count: int,
    cpu: str = "1",
    *,
    on: str = "",
    task: str = "worker",
    selector: Mapping[str, str] | None = None,
) -> list[Pod]:
    requests: ResourceList = {"cpu": cpu}
    return [
        Pod(
            metadata=ObjectMeta(
                name=f"{of}-{task}-{n}",
                namespace="ns",
                uid=f"pod-{of}-{task}-{n}",
                labels={TASK_SPEC: task},
                annotations={GROUP_NAME: of},
            ),
            spec=PodSpec(
                containers=[Container(resources=ResourceRequirements(requests=requests))],
                scheduler_name="volcano",
                node_name=on,
                node_selector=dict(selector or {}),
            ),
            status=PodStatus(phase="Running" if on else "Pending"),
        )
        for n in range(count)
    ]


Given = ApiObject | Sequence[ApiObject]


def snapshot(*given: Given, conf: Conf | None = None) -> Snapshot:
    return Snapshot(objects=list(_flat(given)), conf=conf or Conf(), now=NOW)


def scene(*given: Given) -> Scene:
    return Scene(snapshot(*given))


def candidates(*given: Given, conf: Conf | None = None) -> Candidates:
    """Of the group that is given first."""
    made = snapshot(*given, conf=conf)
    first = made.objects[0]
    assert isinstance(first, PodGroup)
    return Candidates(made, first)


def _flat(given: Iterable[Given]) -> Iterable[ApiObject]:
    for one in given:
        yield from [one] if isinstance(one, ApiObject) else one
