"""A small cluster to ask about."""

from typing import Any

from vc.dashboard.logic.cluster_index import ClusterIndex, build_cluster_index
from vc.messages.sessions import JobReason, Reason, SessionRecord, Stage
from vc.model.api.job import Job, JobSpec, JobState, JobStatus
from vc.model.api.keys import GROUP_NAME, TASK_SPEC
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.node import Node, NodeStatus
from vc.model.api.pod import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from vc.model.api.scheduling import (
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    Queue,
    QueueSpec,
    QueueStatus,
)
from vc.model.api.struct import ResourceList


def owner(name: str) -> OwnerReference:
    return OwnerReference(
        api_version="batch.volcano.sh/v1alpha1", kind="Job", name=name, uid=f"uid-{name}",
        controller=True,
    )  # fmt: skip


def job(name: str, *, queue: str = "default", phase: str = "Running", namespace: str = "ml") -> Job:
    return Job(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}"),
        spec=JobSpec(queue=queue, min_available=2),
        status=JobStatus(state=JobState(phase=phase), running=1),
    )


def group(name: str, *, gang: int = 2, queue: str = "default", **status: Any) -> PodGroup:
    metadata = ObjectMeta(
        name=name, namespace="ml", uid=f"group-{name}", owner_references=[owner(name)]
    )
    return PodGroup(
        metadata=metadata,
        spec=PodGroupSpec(min_member=gang, queue=queue),
        status=PodGroupStatus(**status),
    )


def pod(
    job_name: str, index: int, *, node: str = "n1", cpu: str = "1", phase: str = "Running"
) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name=f"{job_name}-worker-{index}",
            namespace="ml",
            uid=f"{job_name}-{index}",
            annotations={GROUP_NAME: job_name},
            labels={TASK_SPEC: "worker"},
            owner_references=[owner(job_name)],
        ),
        spec=PodSpec(
            node_name=node,
            scheduler_name="volcano",
            containers=[Container(resources=ResourceRequirements(requests={"cpu": cpu}))],
        ),
        status=PodStatus(phase=phase),
    )


def node(name: str, cpu: int = 4, pods: int = 10) -> Node:
    return Node(
        metadata=ObjectMeta(name=name), status=NodeStatus(allocatable={"cpu": cpu, "pods": pods})
    )


def queue(name: str, *, allocated: ResourceList | None = None, **spec: Any) -> Queue:
    status = QueueStatus(allocated=allocated or {})
    return Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(**spec), status=status)


def waiting(name: str, sentence: str = "needs 4 GPUs") -> JobReason:
    reason = Reason(stage=Stage.GANG, code="NotEnoughResources", sentence=sentence)
    return JobReason(
        group=f"ml/{name}", uid=f"group-{name}", queue="default", position=1, reason=reason
    )


def session(number: int, *reasons: JobReason, resolved: tuple[str, ...] = ()) -> SessionRecord:
    return SessionRecord(
        session_id=f"s{number}", started_at=float(number), took_ms=1.5, nodes=1, groups=1,
        enqueued=[], bound_pods=2, placements=[], released=[], waiting=len(reasons),
        reasons=list(reasons), resolved=list(resolved), queues=[],
    )  # fmt: skip


def healthy() -> ClusterIndex:
    return build_cluster_index(
        jobs=[job("b"), job("a"), job("c", queue="team", phase="Pending", namespace="other")],
        groups=[group("a", phase="Running"), group("b", phase="Running", queue="team")],
        pods=[pod("a", 0), pod("a", 1), pod("b", 0), pod("b", 1, phase="Succeeded")],
        queues=[
            queue("root", allocated={"cpu": "3", "pods": "3"}),
            queue("default", parent="root", allocated={"cpu": "2", "pods": "2"}),
            queue("dept", parent="root", weight=3, allocated={"cpu": "1", "pods": "1"}),
            queue("team", parent="dept", deserved={"cpu": 2}, allocated={"cpu": "1", "pods": "1"}),
        ],
        nodes=[node("n1")],
    )  # fmt: skip
