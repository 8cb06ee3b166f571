"""The defaults of admission, applied in memory.

Admission is optional and objects may be older than it, so all decisions use the job with defaults.
Applying the defaults twice changes nothing.
"""

from typing import Final

import msgspec

from vc.model.api.job import Job, JobSpec, TaskSpec
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.struct import JsonObject

MAX_RETRY: Final = 3
"""Default maxRetry of a job and of a task."""


def with_defaults(job: Job, scheduler_name: str) -> Job:
    """The job with the defaults of admission. `scheduler_name` is the first configured name."""
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
    """Default minimum of a task."""
    partitions = task.partition_policy
    if partitions is not None and partitions.min_partitions > 0:
        return partitions.min_partitions * partitions.partition_size
    return task.replicas


def _template(template: JsonObject) -> JsonObject:
    """Set dnsPolicy for pods on the host's network, so that they
    resolve the names of their service."""
    spec = template.get("spec") or {}
    if not spec.get("hostNetwork") or spec.get("dnsPolicy"):
        return template
    return {**template, "spec": {**spec, "dnsPolicy": "ClusterFirstWithHostNet"}}


def replicas_of(spec: JobSpec) -> int:
    """Number of pods of the whole job."""
    return sum(task.replicas for task in spec.tasks)
