"""The pod group of a job: made once per attempt, kept in step, never more than its spec written.

It has the job's own name, or Volcano's `<job>-<uid>` where the compatibility setting says so, and carries
the job's labels and annotations, and the version of the attempt it was made for. Its status belongs to
the scheduler, its queue is never changed.

The job's group is found by its controller's uid, never by its name: one that was made under the other
setting is kept, so that a changed or mixed setting makes no second group. Should there be two all the
same (two controllers with different settings in the moment of a hand-over), the one stays that pods
belong to, else the older one.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from vc_job_controller.logic.sight import Sight, is_stale
from vc_messages.effects import CreateObject, DeleteObject, Effect, PatchObject
from vc_messages.published import hides_annotations
from vc_model import keys
from vc_model.compat import Compat
from vc_model.graft import merge_patch, to_json
from vc_model.job import Job, TaskSpec
from vc_model.kinds import JOBS, PODGROUPS
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup, PodGroupSpec, SubGroupPolicy
from vc_model.selectors import LabelSelector
from vc_model.struct import JsonObject, ResourceList
from vc_model.support.answers import Place
from vc_model.support.matching import is_partition_gang

_VERSION_DIGITS_MAX: Final = 20
_WAITING: Final = frozenset({"", "Pending"})


def owner_reference(job: Job) -> JsonObject:
    """The job as controller of what is made for it."""
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def podgroup_name(job: Job, compat: Compat) -> str:
    """Of a group that is made now."""
    if compat is Compat.UPSTREAM:
        return f"{job.metadata.name}-{job.metadata.uid}"
    return job.metadata.name


def choose_podgroup(
    job: Job, groups: Iterable[PodGroup], pods: Iterable[Pod]
) -> tuple[PodGroup | None, tuple[PodGroup, ...]]:
    """The job's group among those that name it as their job or have its name; and spare ones of its own."""
    used = {pod.metadata.annotations.get(keys.GROUP_NAME) for pod in pods}
    ours: list[PodGroup] = []
    namesakes: list[PodGroup] = []
    for group in groups:
        if JOBS.controls(group.metadata, uid=job.metadata.uid):
            ours.append(group)
        elif group.metadata.name == job.metadata.name:
            namesakes.append(group)
    ours.sort(key=lambda group: (group.metadata.name not in used, *_age(group)))
    if not ours:
        return (namesakes[0] if namesakes else None), ()
    staying = [group for group in ours if group.metadata.deletion_timestamp is None]
    chosen = staying[0] if staying else ours[0]
    return chosen, tuple(group for group in staying if group is not chosen)


def _age(group: PodGroup) -> tuple[str, str]:
    """Older groups first."""
    return (group.metadata.creation_timestamp or "", group.metadata.name)


def drop_spares(sight: Sight) -> list[Effect]:
    """Deletions of groups that the job does not need."""
    return [delete_podgroup(group) for group in sight.seen.spare_podgroups]


def wanted_spec(job: Job, tasks: list[TaskSpec], resources: ResourceList) -> PodGroupSpec:
    """The gang of the released tasks."""
    return PodGroupSpec(
        min_member=member_count(job, tasks),
        min_task_member={task.name: task.min_available or 0 for task in tasks},
        queue=job.spec.queue,
        priority_class_name=job.spec.priority_class_name,
        min_resources=resources,
        network_topology=job.spec.network_topology,
        sub_group_policy=[_partitions(job, task) for task in tasks if task.partition_policy],
    )


def member_count(job: Job, tasks: list[TaskSpec]) -> int:
    """The gang's size without the tasks that still wait for others."""
    released = {task.name for task in tasks}
    waiting = sum(t.min_available or 0 for t in job.spec.tasks if t.name not in released)
    return max(0, job.spec.min_available - waiting)


def _partitions(job: Job, task: TaskSpec) -> SubGroupPolicy:
    """A gang of partitions is asked for only where the gang of all replicas does not imply it: the
    scheduler does not enqueue a group that needs sub-groups of its own."""
    policy = task.partition_policy
    assert policy is not None
    place = Place(value=to_json(policy), parent=to_json(task), root={"spec": to_json(job.spec)})
    return SubGroupPolicy(
        name=task.name,
        network_topology=policy.network_topology,
        sub_group_size=policy.partition_size,
        min_sub_groups=policy.min_partitions if is_partition_gang(place) else 0,
        label_selector=LabelSelector(match_labels={keys.TASK_SPEC: task.name}),
        match_label_keys=[keys.PARTITION_ID],
    )


def keep_podgroup(sight: Sight, spec: PodGroupSpec) -> list[Effect]:
    """Make it, bring it in step, or end the one of an attempt that is over."""
    job, known = sight.job, sight.podgroup
    if known is None:
        name = podgroup_name(job, sight.seen.compat)
        return [] if wants_annotations(sight) else [_create(sight, spec, name)]
    if known.metadata.deletion_timestamp is not None:
        return []  # its name is taken until it is gone
    if is_stale(job, known):
        return [delete_podgroup(known)]
    wanted = msgspec.structs.replace(spec, queue=known.spec.queue)
    patch = merge_patch(to_json(known.spec), to_json(wanted))
    if not patch:
        return []
    return [
        PatchObject(
            kind=PODGROUPS,
            namespace=job.metadata.namespace,
            name=known.metadata.name,
            patch={"spec": patch},
            uid=known.metadata.uid,
        )
    ]


def wants_annotations(sight: Sight) -> bool:
    """Whether a group is to be made with annotations of the job that only the API server can tell.

    They change without a new generation, so only a job counts that was read since it was observed.
    """
    if sight.podgroup is not None or not hides_annotations(sight.job):
        return False
    manifest = sight.seen.manifest
    return manifest is None or _version(manifest) < _version(sight.job)


def _version(job: Job) -> int:
    written = job.metadata.resource_version
    return int(written) if written.isdecimal() and len(written) <= _VERSION_DIGITS_MAX else 0


def drop_podgroup(sight: Sight) -> list[Effect]:
    """A job that does not run needs no place in its queue."""
    known = sight.podgroup
    if known is None or known.metadata.deletion_timestamp is not None:
        return drop_spares(sight)
    return [delete_podgroup(known), *drop_spares(sight)]


def delete_podgroup(podgroup: PodGroup) -> DeleteObject:
    """Exactly this one."""
    return DeleteObject(
        kind=PODGROUPS,
        namespace=podgroup.metadata.namespace,
        name=podgroup.metadata.name,
        uid=podgroup.metadata.uid,
    )


def admits_pods(sight: Sight) -> bool:
    """Whether the scheduler has let the gang in: pods are made no earlier."""
    known = sight.podgroup
    return (
        known is not None
        and known.metadata.deletion_timestamp is None
        and not is_stale(sight.job, known)
        and known.status.phase not in _WAITING
    )


def _create(sight: Sight, spec: PodGroupSpec, name: str) -> CreateObject:
    job = sight.job
    whole = sight.seen.manifest if hides_annotations(job) else None
    written = (whole or job).metadata.annotations
    annotations = {key: value for key, value in written.items() if key != keys.LAST_APPLIED}
    annotations[keys.JOB_VERSION] = str(job.status.version)
    metadata: JsonObject = {
        "name": name,
        "namespace": job.metadata.namespace,
        "annotations": annotations,
        "ownerReferences": [owner_reference(job)],
    }
    if job.metadata.labels:
        metadata["labels"] = dict(job.metadata.labels)
    return CreateObject(
        kind=PODGROUPS,
        namespace=job.metadata.namespace,
        name=name,
        owner_uid=job.metadata.uid,
        owner_kind=JOBS,
        body={
            "apiVersion": PODGROUPS.api_version,
            "kind": PODGROUPS.kind,
            "metadata": metadata,
            "spec": to_json(spec),
        },
    )
