"""Building pods: one prepared template per task, then one cheap copy per index.

The copies share everything that is the same in all of them. This is safe because the body
of an effect is never changed.

The name `<job>-<task>-<index>` is deterministic, so creating a pod twice results in one pod.
Labels and annotations are those of the template plus ours, which name the version and retry
for which the pod was created.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from vc.jobs.ownership import owner_reference
from vc.jobs.pods.decoration import IndexMarks, Variables, decorate, subdomain_of
from vc.jobs.pods.volumes import mount_volumes
from vc.messages.effects import CreateObject
from vc.messages.plugins import TaskDecoration
from vc.model.api import keys
from vc.model.api.job import Job, TaskSpec
from vc.model.api.kinds import JOBS, PODS
from vc.model.api.struct import JsonObject

_FROM_JOB_ANNOTATIONS = (keys.PREEMPTABLE, keys.COOLDOWN_TIME, keys.REVOCABLE_ZONE)
_FROM_JOB_LABELS = (keys.PREEMPTABLE, keys.COOLDOWN_TIME)
_BUDGETS = (keys.JDB_MIN_AVAILABLE, keys.JDB_MAX_UNAVAILABLE)
JOB_FORWARDING = "volcano.sh/job-forwarding"

_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def pod_name(job: Job, task: str, index: int) -> str:
    """The deterministic name of a pod."""
    return f"{job.metadata.name}-{task}-{index}"


class PodMaker:
    """Creates the pods of one task. Everything that is the same for all pods is computed once."""

    def __init__(
        self,
        job: Job,
        task: TaskSpec,
        decorations: Sequence[TaskDecoration],
        *,
        group: str,
        forwarded: bool,
        variables: Variables | None = None,
    ) -> None:
        """`group` is the name of the pods' PodGroup. `variables` are
        shared by all tasks of the job."""
        self._job = job
        self._task = task
        self._hostname_from_pod = any(d.hostname_from_pod for d in decorations)
        self._prepared = _prepare(
            job, task, decorations, group=group, forwarded=forwarded, variables=variables
        )
        self._marks = IndexMarks(self._prepared["spec"])

    def make(self, index: int) -> CreateObject:
        """The effect that creates the pod of an index."""
        job, task = self._job, self._task
        name = pod_name(job, task.name, index)
        prepared = self._prepared["metadata"]
        metadata = {
            **prepared,
            "name": name,
            "labels": {**prepared["labels"], keys.TASK_INDEX: str(index)},
            "annotations": {**prepared["annotations"], keys.TASK_INDEX: str(index)},
        }
        body = {**self._prepared, "metadata": metadata, "spec": self._marks.filled(index)}
        if task.partition_policy is not None:
            part = index // max(1, task.partition_policy.partition_size)
            metadata["labels"][keys.PARTITION_ID] = str(part)
        # The host name is per pod, so it cannot be part of the prepared spec.
        if self._hostname_from_pod:
            body["spec"].setdefault("hostname", name)
        return CreateObject(
            kind=PODS,
            namespace=job.metadata.namespace,
            name=name,
            owner_uid=job.metadata.uid,
            owner_kind=JOBS,
            body=body,
        )


def _prepare(
    job: Job,
    task: TaskSpec,
    decorations: Sequence[TaskDecoration],
    *,
    group: str,
    forwarded: bool,
    variables: Variables | None,
) -> JsonObject:
    # A copy, because the template belongs to the job and decorations change it in place.
    template: JsonObject = _decoder.decode(msgspec.json.encode(task.template))
    written = template.get("metadata") or {}
    spec: JsonObject = template.get("spec") or {}
    # Decorations and volumes of the job are the same for all pods, so
    # they are part of the template.
    decorate(spec, decorations, variables)
    mount_volumes(job, spec)
    if not spec.get("schedulerName"):
        spec["schedulerName"] = job.spec.scheduler_name
    if not spec.get("priorityClassName") and job.spec.priority_class_name:
        spec["priorityClassName"] = job.spec.priority_class_name
    subdomain = subdomain_of(decorations)
    if subdomain and not spec.get("subdomain"):
        spec["subdomain"] = subdomain
    # Our annotations win over the template's: they say to which job and attempt a pod belongs.
    annotations = {**(written.get("annotations") or {}), **_annotations(job, task, group)}
    for decoration in decorations:
        for key, value in sorted(decoration.annotations.items()):
            annotations.setdefault(key, value)
    if forwarded:
        annotations[JOB_FORWARDING] = "true"
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            "namespace": job.metadata.namespace,
            "labels": {**(written.get("labels") or {}), **_labels(job, task)},
            "annotations": annotations,
            "ownerReferences": [owner_reference(job)],
            **({"finalizers": written["finalizers"]} if written.get("finalizers") else {}),
        },
        "spec": spec,
    }


def _annotations(job: Job, task: TaskSpec, group: str) -> dict[str, str]:
    given = job.metadata.annotations
    made = {
        keys.GROUP_NAME: group,
        keys.JOB_NAME: job.metadata.name,
        keys.TASK_SPEC: task.name,
        keys.QUEUE_NAME: job.spec.queue,
        keys.JOB_VERSION: str(job.status.version),
        keys.JOB_RETRY_COUNT: str(job.status.retry_count),
        keys.TEMPLATE_UID: f"{job.metadata.name}-{task.name}",
    }
    if task.topology_policy:
        made[keys.NUMA_TOPOLOGY_POLICY] = task.topology_policy
    made |= {key: given[key] for key in _FROM_JOB_ANNOTATIONS if key in given}
    budget = next((key for key in _BUDGETS if key in given), None)
    if budget is not None:
        made[budget] = given[budget]
    return made


def _labels(job: Job, task: TaskSpec) -> dict[str, str]:
    made = {
        keys.JOB_NAME: job.metadata.name,
        keys.JOB_NAMESPACE: job.metadata.namespace,
        keys.TASK_SPEC: task.name,
        keys.QUEUE_NAME: job.spec.queue,
    }
    return made | {k: job.metadata.labels[k] for k in _FROM_JOB_LABELS if k in job.metadata.labels}
