"""The PodGroup of a job: created once per attempt and kept up to date with the job.

It has the job's name, or Volcano's `<job>-<uid>` under the upstream compatibility setting. It
carries the labels and annotations of the job and the version of the attempt. This controller writes
only its spec and metadata: the status belongs to the scheduler, and the queue is never changed.
JobPods that succeeded and whose pods are gone are listed in an annotation, so that the scheduler
still counts them for the gang. The list follows from the status of the job, where they were noted
before, and from the pods, so it may be computed and written any number of times.

The PodGroup is found by the uid of its controller and never by name. One that was created under
the other setting is kept, so a changed or mixed setting creates no second PodGroup. If two exist
all the same (two controllers with different settings during a hand-over), the one that pods belong
to is kept, else the older one.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from vc.job_controller.logic.job_pods import POD_SUCCEEDED
from vc.job_controller.logic.observation import Observation, is_stale
from vc.jobs.ownership import owner_reference
from vc.jobs.podgroup import podgroup_name
from vc.messages.effects import CreateObject, DeleteObject, Effect, PatchObject
from vc.messages.published import hides_annotations
from vc.model.api import keys
from vc.model.api.graft import merge_patch, to_json
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS, PODGROUPS
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PodGroupSpec
from vc.model.api.struct import JsonObject
from vc.model.completed_members import format_completed

_VERSION_DIGITS_MAX: Final = 20
_WAITING: Final = frozenset({"", "Pending"})
_NOT_COPIED: Final = frozenset({keys.LAST_APPLIED, *keys.PODGROUP_ANNOTATIONS})
"""Annotations that are not copied from a job: kubectl's, and those that only we write."""


def choose_podgroup(
    job: Job, groups: Iterable[PodGroup], pods: Iterable[Pod]
) -> tuple[PodGroup | None, tuple[PodGroup, ...]]:
    """The PodGroup of a job and its superfluous PodGroups, of those that it
    controls or that have its name."""
    used = {pod.metadata.annotations.get(keys.GROUP_NAME) for pod in pods}
    ours: list[PodGroup] = []
    namesakes: list[PodGroup] = []
    for group in groups:
        if JOBS.controls(group.metadata, uid=job.metadata.uid):
            ours.append(group)
        elif group.metadata.name == job.metadata.name:
            namesakes.append(group)
    # Pods reference the PodGroup by name, so the referenced one must be kept.
    ours.sort(key=lambda group: (group.metadata.name not in used, *_age(group)))
    if not ours:
        return (namesakes[0] if namesakes else None), ()
    # A terminating PodGroup is chosen only if there is no other.
    staying = [group for group in ours if group.metadata.deletion_timestamp is None]
    chosen = staying[0] if staying else ours[0]
    return chosen, tuple(group for group in staying if group is not chosen)


def _age(group: PodGroup) -> tuple[str, str]:
    """Sort key: older PodGroups first."""
    return (group.metadata.creation_timestamp or "", group.metadata.name)


def delete_superfluous(observation: Observation) -> list[Effect]:
    """Deletions of PodGroups that the job does not need."""
    return [delete_podgroup(group) for group in observation.seen.superfluous_podgroups]


def keep_podgroup(observation: Observation, spec: PodGroupSpec) -> list[Effect]:
    """Create the PodGroup, update it, or delete the one of an earlier attempt."""
    job, known = observation.job, observation.podgroup
    if known is None:
        name = podgroup_name(job, observation.seen.compat)
        # The PodGroup is created once, so it must have the final annotations from the start.
        return [] if wants_annotations(observation) else [_create(observation, spec, name)]
    if known.metadata.deletion_timestamp is not None:
        return []  # its name is in use until it is gone
    # Its status is that of the earlier attempt. With it, the new attempt would count as enqueued.
    if is_stale(job, known):
        return [delete_podgroup(known)]
    # A PodGroup never changes its queue, even if the job names another one now.
    wanted = msgspec.structs.replace(spec, queue=known.spec.queue)
    changed = merge_patch(to_json(known.spec), to_json(wanted))
    patch: JsonObject = {"spec": changed} if changed else {}
    noted = _completed_members(observation)
    # Clean-up removes pods one by one. The list is written at the pace of the counters, or with a
    # change of the spec that costs a write anyway.
    if noted != known.metadata.annotations.get(keys.COMPLETED_MEMBERS, "") and (
        changed or observation.seen.counters_due
    ):
        patch["metadata"] = {"annotations": {keys.COMPLETED_MEMBERS: noted or None}}
    if not patch:
        return []
    return [
        PatchObject(
            kind=PODGROUPS,
            namespace=job.metadata.namespace,
            name=known.metadata.name,
            patch=patch,
            uid=known.metadata.uid,
        )
    ]


def awaits_note(observation: Observation) -> bool:
    """Whether the list of completed members waits.

    Pods are cleaned up one after another, so the list is written at the pace of the job's counters.
    """
    known = observation.podgroup
    if known is None or observation.seen.counters_due or is_stale(observation.job, known):
        return False
    noted = known.metadata.annotations.get(keys.COMPLETED_MEMBERS, "")
    return known.metadata.deletion_timestamp is None and noted != _completed_members(observation)


def _completed_members(observation: Observation) -> str:
    """JobPods that succeeded and whose pod no longer shows it."""
    absent: dict[str, frozenset[int]] = {}
    for task, done in observation.counted.completed.items():
        pods = observation.members.of(task)
        # A succeeded pod that still exists counts by itself and needs no entry.
        gone = (i for i in done if i not in pods or pods[i].phase != POD_SUCCEEDED)
        absent[task] = frozenset(gone)
    return format_completed(absent)


def wants_annotations(observation: Observation) -> bool:
    """Whether the PodGroup needs annotations of the job that only the API server has.

    Annotations change without a new generation, so the job must have been read at
    its observed version or later.
    """
    if observation.podgroup is not None or not hides_annotations(observation.job):
        return False
    manifest = observation.seen.manifest
    # Annotations may have changed since, without a new generation.
    return manifest is None or _version(manifest) < _version(observation.job)


def _version(job: Job) -> int:
    written = job.metadata.resource_version
    return int(written) if written.isdecimal() and len(written) <= _VERSION_DIGITS_MAX else 0


def drop_podgroup(observation: Observation) -> list[Effect]:
    """Deletions of all PodGroups. A job that does not run must not use its queue."""
    known = observation.podgroup
    if known is None or known.metadata.deletion_timestamp is not None:
        return delete_superfluous(observation)
    return [delete_podgroup(known), *delete_superfluous(observation)]


def delete_podgroup(podgroup: PodGroup) -> DeleteObject:
    """Delete exactly this PodGroup, by uid."""
    return DeleteObject(
        kind=PODGROUPS,
        namespace=podgroup.metadata.namespace,
        name=podgroup.metadata.name,
        uid=podgroup.metadata.uid,
    )


def is_enqueued(observation: Observation) -> bool:
    """Whether the scheduler has enqueued the gang. Pods are not created earlier."""
    known = observation.podgroup
    return (
        known is not None
        and known.metadata.deletion_timestamp is None
        and not is_stale(observation.job, known)
        and known.status.phase not in _WAITING
    )


def _create(observation: Observation, spec: PodGroupSpec, name: str) -> CreateObject:
    job = observation.job
    whole = observation.seen.manifest if hides_annotations(job) else None
    written = (whole or job).metadata.annotations
    # Only our services write these annotations; a copied one would forge their content.
    annotations = {key: value for key, value in written.items() if key not in _NOT_COPIED}
    annotations[keys.JOB_VERSION] = str(job.status.version)
    noted = _completed_members(observation)
    if noted:
        annotations[keys.COMPLETED_MEMBERS] = noted
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
