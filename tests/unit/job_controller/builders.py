"""Jobs, pods and pod groups as the view shows them, each in one line of a test."""

from typing import Final

import msgspec

from vc.job_controller.logic import decide
from vc.job_controller.logic.observed import Decision, ObservedJob
from vc.messages.effects import CreateObject, DeleteObject, PatchObject, RecordEvent
from vc.messages.plugins import PluginReply
from vc.model.api import keys
from vc.model.api.graft import apply_merge_patch, to_json
from vc.model.api.job import Command, Job, JobSpec, JobState, JobStatus, LifecyclePolicy, TaskSpec
from vc.model.api.kinds import JOBS, PODGROUPS, PODS
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.pod import ContainerState, ContainerStatus, Pod, PodStatus, TerminatedState
from vc.model.api.scheduling import PodGroup, PodGroupStatus, Queue
from vc.model.api.struct import JsonObject
from vc.model.values.times import format_time

NOW: Final = 1_800_000_000.0
UID: Final = "job-1"
TEMPLATE: Final = {
    "spec": {
        "containers": [
            {"name": "main", "image": "work:1", "resources": {"requests": {"cpu": "1"}}}
        ],
        "restartPolicy": "Never",
    }
}


def policy(action: str, *events: str, **others: object) -> LifecyclePolicy:
    """`policy("RestartJob", "PodFailed")`."""
    return msgspec.convert(
        {"action": action, "events": list(events), **others}, type=LifecyclePolicy
    )


def task(name: str = "worker", replicas: int = 2, **others: object) -> TaskSpec:
    """A task of pods that request one CPU."""
    return TaskSpec(name=name, replicas=replicas, template=TEMPLATE, **others)  # type: ignore[arg-type]


def job(
    phase: str = "Pending",
    *,
    tasks: list[TaskSpec] | None = None,
    notes: dict[str, str] | None = None,
    version: int = 0,
    retry: int = 0,
    since: float = NOW,
    **spec: object,
) -> Job:
    """A job in a phase, with what its status notes."""
    return Job(
        api_version=JOBS.api_version,
        kind=JOBS.kind,
        metadata=ObjectMeta(
            name="j",
            namespace="ns",
            uid=UID,
            resource_version="10",
            creation_timestamp=format_time(NOW - 100),
        ),
        spec=JobSpec(tasks=[task()] if tasks is None else tasks, **spec),  # type: ignore[arg-type]
        status=JobStatus(
            state=JobState(phase=phase, last_transition_time=format_time(since) if phase else None),
            version=version,
            retry_count=retry,
            controlled_resources=notes or {},
        ),
    )


def owner(uid: str = UID) -> OwnerReference:
    return OwnerReference(
        api_version=JOBS.api_version, kind=JOBS.kind, name="j", uid=uid, controller=True
    )


def pod(
    index: int,
    phase: str = "Running",
    *,
    of: str = "worker",
    version: int = 0,
    retry: int = 0,
    exit_code: int | None = None,
    ended_at: float | None = None,
    going: bool = False,
    released: bool = False,
    ready: bool = True,
    restarts: int = 0,
    job_uid: str = UID,
    uid: str = "",
    created_at: float = NOW - 60,
) -> Pod:
    """The pod of a task at an index."""
    annotations = {
        keys.TASK_SPEC: of,
        keys.TASK_INDEX: str(index),
        keys.JOB_VERSION: str(version),
        keys.JOB_RETRY_COUNT: str(retry),
    }
    if released:
        annotations[keys.OUT_OF_SYNC] = "true"
    state = None
    if exit_code is not None:
        ended = TerminatedState(exit_code=exit_code, finished_at=format_time(ended_at or NOW))
        state = ContainerState(terminated=ended)
    return Pod(
        metadata=ObjectMeta(
            name=f"j-{of}-{index}",
            namespace="ns",
            uid=uid or f"pod-{of}-{index}-{version}-{retry}",
            creation_timestamp=format_time(created_at),
            deletion_timestamp=format_time(NOW + 30) if going else None,
            deletion_grace_period_seconds=30 if going else None,
            annotations=annotations,
            owner_references=[owner(job_uid)],
        ),
        status=PodStatus(
            phase=phase,
            container_statuses=[
                ContainerStatus(name="main", ready=ready, restart_count=restarts, state=state)
            ],
        ),
    )


def podgroup(phase: str = "Inqueue", *, version: int = 0, uid: str = "pg-1") -> PodGroup:
    """The job's pod group, enqueued by the scheduler."""
    return PodGroup(
        metadata=ObjectMeta(
            name="j",
            namespace="ns",
            uid=uid,
            annotations={keys.JOB_VERSION: str(version)},
            owner_references=[owner()],
        ),
        status=PodGroupStatus(phase=phase),
    )


def command(action: str, *, uid: str = "command-1", target: str = UID, age: float = 0) -> Command:
    return Command(
        metadata=ObjectMeta(
            name=f"c-{uid}",
            namespace="ns",
            uid=uid,
            creation_timestamp=format_time(NOW - age),
        ),
        action=action,
        target=owner(target),
    )


def observed(of: Job, *pods: Pod, **others: object) -> ObservedJob:
    """With a queue and the job as it was read, and nothing else, unless given."""
    others.setdefault("manifest", of)
    others.setdefault("queue", Queue(metadata=ObjectMeta(name="default")))
    return ObservedJob(job=of, pods=pods, **others)  # type: ignore[arg-type]


def reply(plugin: str, to: ObservedJob, **others: object) -> PluginReply:
    """A reply about the current spec of the job."""
    from vc.job_controller.logic.observation import observe

    return PluginReply(
        verb="apply",
        plugin=plugin,
        job_key=to.job.key,
        job_uid=to.job.metadata.uid,
        spec_hash=observe(to).hash,
        **others,  # type: ignore[arg-type]
    )


# -- reading decisions ---------------------------------------------------------------------------


def written_status(before: Job, decision: Decision) -> JobStatus:
    """The status after a decision's patch."""
    patched = to_json(before.status)
    for effect in decision.effects:
        if isinstance(effect, PatchObject) and effect.kind is JOBS:
            patched = apply_merge_patch(patched, effect.patch["status"])
    return msgspec.convert(patched, type=JobStatus)


def created(decision: Decision) -> list[str]:
    """Names of the pods it creates."""
    return [e.name for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODS]


def deleted(decision: Decision) -> list[str]:
    """Names of the pods it deletes."""
    return [e.name for e in decision.effects if isinstance(e, DeleteObject) and e.kind is PODS]


def group_effects(decision: Decision) -> list[str]:
    """Types of its effects on the PodGroup."""
    return [
        type(e).__name__
        for e in decision.effects
        if isinstance(e, CreateObject | PatchObject | DeleteObject) and e.kind is PODGROUPS
    ]


def events(decision: Decision) -> list[str]:
    """Reasons of its Events."""
    return [e.reason for e in decision.effects if isinstance(e, RecordEvent)]


def failed(index: int = 0, code: int = 3, **others: object) -> Pod:
    """A failed pod with an exit code."""
    return pod(index, "Failed", exit_code=code, **others)  # type: ignore[arg-type]


def group_spec(of: Job, *pods: object, **others: object) -> JsonObject:
    """The spec of the PodGroup that a decision creates."""
    decision = decide(observed(of, *pods, **others), now=NOW)  # type: ignore[arg-type]
    made = [e for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODGROUPS]
    spec: JsonObject = made[0].body["spec"]
    return spec
