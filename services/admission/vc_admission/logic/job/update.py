"""Validation of a changed vcjob: what may change, and that it still fits together.

Only the gang, the sizes of tasks, the priority class and the generated names of claims may change.
Everything else of the spec is what the pods were made of. Each forbidden change is told by path.
Both sides come here with their defaults, so that only what differs in effect is a change.
"""

from typing import Final

import msgspec

from vc_admission.logic.findings import Findings
from vc_admission.logic.job.create import check_gang
from vc_admission.logic.job.tasks import check_sizes
from vc_admission.logic.json_patch import json_patch
from vc_admission.logic.names import check_subdomain
from vc_model.graft import to_json
from vc_model.job import Job, JobSpec, TaskSpec, VolumeSpec

MUTABLE: Final = (
    "spec.minAvailable, spec.tasks[*].replicas, spec.tasks[*].minAvailable, spec.priorityClassName"
)
CHANGES_SHOWN_MAX: Final = 10


def check_job_update(found: Findings, *, old: Job, new: Job) -> None:
    """Whether the job may become this."""
    if len(old.spec.tasks) != len(new.spec.tasks):
        found.refuse(
            "spec.tasks",
            f"had {len(old.spec.tasks)} tasks and now {len(new.spec.tasks)}; tasks may not be added "
            "or removed: change replicas, or create a new job",
        )
        return
    for index, task in enumerate(new.spec.tasks):
        check_sizes(found, f"spec.tasks[{index}]", task)
    check_gang(found, new.spec)
    if new.spec.priority_class_name:
        check_subdomain(found, "spec.priorityClassName", new.spec.priority_class_name)
    changes = json_patch(to_json(_fixed(old.spec)), to_json(_fixed(new.spec)))
    for change in changes[:CHANGES_SHOWN_MAX]:
        found.refuse(
            _dotted(change["path"]),
            f"may not be changed on a job; only {MUTABLE} may. Create a new job instead",
            value=change.get("value", None),
        )
    if len(changes) > CHANGES_SHOWN_MAX:
        found.refuse("spec", f"and {len(changes) - CHANGES_SHOWN_MAX} more changes")


def _fixed(spec: JobSpec) -> JobSpec:
    """The spec with everything blanked that may change."""
    return msgspec.structs.replace(
        spec,
        min_available=0,
        priority_class_name="",
        tasks=[_fixed_task(task) for task in spec.tasks],
        volumes=[_fixed_volume(volume) for volume in spec.volumes],
    )


def _fixed_task(task: TaskSpec) -> TaskSpec:
    return msgspec.structs.replace(task, replicas=0, min_available=None)


def _fixed_volume(volume: VolumeSpec) -> VolumeSpec:
    """The controller writes the name of the claim it made."""
    if volume.volume_claim is None:
        return volume
    return msgspec.structs.replace(volume, volume_claim_name="")


def _dotted(pointer: str) -> str:
    """`/tasks/0/name` as `spec.tasks[0].name`."""
    path = "spec"
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        path += f"[{name}]" if name.isdecimal() or "/" in name else f".{name}"
    return path
