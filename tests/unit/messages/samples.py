"""One message of every sort, with fixed content: the golden files are made of these."""

from vc.messages.dead_letters import dead_letter_message
from vc.messages.facts import Stamp, fact_message, fence_message, tombstone_message
from vc.messages.plugins import (
    APPLY,
    EnvVar,
    JobDecoration,
    PluginAnnouncement,
    PluginArgument,
    PluginReply,
    PluginRequest,
    TaskDecoration,
    announcement_message,
    reply_message,
    request_message,
    spec_hash,
)
from vc.messages.progress import Progress, progress_message
from vc.messages.published import published
from vc.messages.record import Message, Record
from vc.messages.sessions import (
    Amount,
    Check,
    Evicted,
    JobReason,
    Placement,
    QueueShare,
    Reason,
    SessionRecord,
    Stage,
    TakenOver,
    session_message,
)
from vc.messages.usage import UsageRow, usage_message
from vc.model.api.job import Job, JobSpec, LifecyclePolicy, TaskSpec
from vc.model.api.kinds import JOBS, PODS, QUEUES
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.pod import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from vc.model.api.scheduling import Queue, QueueSpec

STAMP = Stamp(incarnation="00f1a2b3c4d5e6f7", epoch=3)
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

JOB = Job(
    api_version="batch.volcano.sh/v1alpha1",
    kind="Job",
    metadata=ObjectMeta(name="train", namespace="ml", uid="job-uid", resource_version="41"),
    spec=JobSpec(
        scheduler_name="volcano",
        min_available=2,
        queue="default",
        plugins={"svc": [], "env": [], "ssh": ["--no-root"]},
        tasks=[
            TaskSpec(
                name="worker",
                replicas=2,
                template={"spec": {"containers": [{"name": "c", "image": "busybox"}]}},
                policies=[LifecyclePolicy(event="PodEvicted", action="RestartJob")],
            )
        ],
    ),
)
POD = Pod(
    metadata=ObjectMeta(
        name="train-worker-0",
        namespace="ml",
        uid="pod-uid",
        resource_version="42",
        labels={"volcano.sh/job-name": "train", "app": "x"},
        owner_references=[
            OwnerReference(
                api_version="batch.volcano.sh/v1alpha1",
                kind="Job",
                name="train",
                uid="job-uid",
                controller=True,
            )
        ],
    ),
    spec=PodSpec(
        containers=[
            Container(
                name="c",
                image="busybox",
                resources=ResourceRequirements(requests={"cpu": "500m", "memory": "1Gi"}),
            )
        ],
        scheduler_name="volcano",
    ),
    status=PodStatus(phase="Pending"),
)
QUEUE = Queue(
    metadata=ObjectMeta(name="default", uid="queue-uid", resource_version="1"),
    spec=QueueSpec(weight=2, capability={"cpu": 64}, parent="root"),
)


def _progress() -> Message:
    return progress_message(
        Progress(
            kind=PODS.short,
            stamp=STAMP,
            sequence=7,
            synced=True,
            resource_version="42",
            end_offsets=list(range(12)),
        )
    )


def _request() -> Message:
    request = PluginRequest(
        verb=APPLY, plugin="svc", arguments=["--x"], job=JOB, spec_hash=spec_hash(JOB.spec)
    )
    return request_message(request, traceparent=TRACEPARENT)


def _reply() -> Message:
    decoration = TaskDecoration(
        env=[EnvVar(name="VC_TASK_INDEX", index_plus=0)], hostname_from_pod=True, subdomain="train"
    )
    reply = PluginReply(
        verb=APPLY,
        plugin="svc",
        job_key=JOB.key,
        job_uid="job-uid",
        spec_hash=spec_hash(JOB.spec),
        decoration=JobDecoration(tasks={"worker": decoration}),
    )
    return reply_message(reply)


def _session() -> Message:
    reason = Reason(
        stage=Stage.GANG,
        code="NotEnoughResources",
        sentence="2 pods needed, 1 fits",
        needed_pods=2,
        placeable_pods=1,
        amounts=[Amount(resource="cpu", needed=2000, available=1000, missing=1000)],
        checks=[Check(name="resources", nodes_left=1)],
    )
    waits = JobReason(group="ml/train", uid="g", queue="default", position=1, reason=reason)
    return session_message(
        SessionRecord(
            session_id="3-000042",
            started_at=1_800_000_000.5,
            took_ms=12.5,
            nodes=4,
            groups=2,
            enqueued=["ml/next"],
            bound_pods=1,
            placements=[Placement(pod="ml/train-worker-0", uid="pod-uid", node="node-1")],
            released=[],
            waiting=1,
            reasons=[waits],
            resolved=["ml/done"],
            queues=[QueueShare(queue="default", allocated={"cpu": "1"})],
            evicted=[Evicted(pod="ml/low-0", uid="low", group="ml/train")],
            taken_over=[TakenOver(group="ml/less", by="ml/train")],
        )
    )


def _letter() -> Message:
    record = Record(
        topic=PODS.topic,
        partition=1,
        offset=9,
        key="ml/bad",
        value=b"\xc1",
        headers={"schema": "9"},
    )
    return dead_letter_message(record, service="scheduler", error="schema version '9'")


SAMPLES: dict[str, Message] = {
    "fact-job": fact_message(JOBS, published(JOB), stamp=STAMP, traceparent=TRACEPARENT),
    "fact-pod": fact_message(PODS, POD, stamp=STAMP),
    "fact-queue": fact_message(QUEUES, QUEUE, stamp=STAMP),
    "tombstone-pod": tombstone_message(
        PODS,
        key=POD.key,
        partition=5,
        uid="pod-uid",
        resource_version="43",
        stamp=STAMP,
    ),
    "fence": fence_message(PODS, partition=0, stamp=STAMP),
    "progress": _progress(),
    "plugin-request": _request(),
    "plugin-reply": _reply(),
    "plugin-announcement": announcement_message(
        PluginAnnouncement(
            plugin="pytorch",
            version="0.1.0",
            arguments=[PluginArgument(name="port", default="23456", meaning="of the master")],
            forces=["svc"],
        )
    ),
    "session": _session(),
    "usage-row": usage_message(
        UsageRow(
            queue="research",
            namespace="ml",
            job="train",
            hour=1_800_000_000,
            held={"cpu": "7200000", "memory": "20000000000000000000", "nvidia.com/gpu": "3600000"},
            closed=True,
        )
    ),
    "dead-letter": _letter(),
}
