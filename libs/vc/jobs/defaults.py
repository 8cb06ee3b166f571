"""Defaults of a vcjob: one copy for admission, the job-controller and the dashboard.

Admission writes them into the job. It is optional and objects may be older than it, so the
job-controller and the dashboard apply them in memory before each decision. Applying the defaults
twice changes nothing. An explicit 0 of minAvailable or maxRetry cannot be distinguished from an
absent value, as in upstream.
"""

from typing import Final

import msgspec

from vc.model.api.job import Job, JobSpec, TaskSpec
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.api.struct import Json

MAX_RETRY: Final = 3
"""Default maxRetry of a job and of a task."""

HOST_NETWORK_DNS_POLICY: Final = "ClusterFirstWithHostNet"


def with_defaults(job: Job, scheduler_name: str) -> Job:
    """The job with all defaults. `scheduler_name` is the first configured name."""
    spec = job.spec
    tasks = [task_with_defaults(task, position) for position, task in enumerate(spec.tasks)]
    defaulted = msgspec.structs.replace(
        spec,
        # An empty value is the zero value of Go clients and counts as absent.
        queue=spec.queue or DEFAULT_QUEUE,
        scheduler_name=spec.scheduler_name or scheduler_name,
        max_retry=spec.max_retry or MAX_RETRY,
        tasks=tasks,
        # The order matters here: the gang is the sum over the defaulted tasks.
        min_available=spec.min_available or sum(task.min_available or 0 for task in tasks),
    )
    return msgspec.structs.replace(job, spec=defaulted)


def task_with_defaults(task: TaskSpec, position: int) -> TaskSpec:
    """The task with its defaults. `position` is its index in `spec.tasks`."""
    return msgspec.structs.replace(
        task,
        name=task.name or f"default{position}",
        min_available=default_min_available(task),
        max_retry=task.max_retry or MAX_RETRY,
        template=with_dns_policy(task.template),
    )


def default_min_available(task: TaskSpec) -> int:
    """The minimum of a task: as written, else whole partitions, else all its pods."""
    if task.min_available is not None:
        return task.min_available
    partitions = task.partition_policy
    if partitions is not None and partitions.min_partitions > 0:
        return partitions.min_partitions * partitions.partition_size
    return task.replicas


def with_dns_policy(template: Json) -> Json:
    """The pod template with the DNS policy that pods on the host's network need.

    With the policy of Kubernetes' default they would not resolve names of the cluster.
    """
    # A wrong type is left to validation; a mutator must not raise.
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return template
    spec = template["spec"]
    if spec.get("hostNetwork") is not True or spec.get("dnsPolicy"):
        return template
    return {**template, "spec": {**spec, "dnsPolicy": HOST_NETWORK_DNS_POLICY}}


def replicas_of(spec: JobSpec) -> int:
    """Number of pods of the whole job."""
    return sum(task.replicas for task in spec.tasks)
