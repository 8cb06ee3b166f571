"""What admission would have filled in, applied in memory.

Admission may be absent (it is optional, and objects may be older than it), so everything here that
decides on a job decides on the defaulted one. Applying it twice changes nothing.
"""

from typing import Final

import msgspec

from vc_model.job import Job, JobSpec, TaskSpec
from vc_model.keys import DEFAULT_QUEUE
from vc_model.struct import JsonObject

MAX_RETRY: Final = 3
"""Of a job and of a task, where none is written."""


def with_defaults(job: Job, scheduler_name: str) -> Job:
    """The job as admission would have let it in; `scheduler_name` is the first of ours."""
    spec = job.spec
    tasks = [_task(task, position) for position, task in enumerate(spec.tasks)]
    defaulted = msgspec.structs.replace(
        spec,
        queue=spec.queue or DEFAULT_QUEUE,
        scheduler_name=spec.scheduler_name or scheduler_name,
        max_retry=spec.max_retry or MAX_RETRY,
        tasks=tasks,
        min_available=spec.min_available or sum(task.min_available or 0 for task in tasks),
    )
    return msgspec.structs.replace(job, spec=defaulted)


def _task(task: TaskSpec, position: int) -> TaskSpec:
    return msgspec.structs.replace(
        task,
        name=task.name or f"default{position}",
        min_available=_least(task) if task.min_available is None else task.min_available,
        max_retry=task.max_retry or MAX_RETRY,
        template=_template(task.template),
    )


def _least(task: TaskSpec) -> int:
    """How many pods of the task the gang needs when the user does not say."""
    partitions = task.partition_policy
    if partitions is not None and partitions.min_partitions > 0:
        return partitions.min_partitions * partitions.partition_size
    return task.replicas


def _template(template: JsonObject) -> JsonObject:
    """Pods on the host's network still want to resolve the names of their service."""
    spec = template.get("spec") or {}
    if not spec.get("hostNetwork") or spec.get("dnsPolicy"):
        return template
    return {**template, "spec": {**spec, "dnsPolicy": "ClusterFirstWithHostNet"}}


def replicas_of(spec: JobSpec) -> int:
    """Pods the whole job wants."""
    return sum(task.replicas for task in spec.tasks)
