"""Validation of a changed vcjob: what may change, and whether it is still consistent.

Only the gang, the sizes of tasks, the priority class and the generated names of claims may change.
The pods were created from the rest of the spec. Each forbidden change is reported by path. Both
sides have their defaults, so that only a difference in effect counts as a change.
"""

from typing import Final

import msgspec

from vc.model.api.graft import to_json
from vc.model.api.job import Job, JobSpec, TaskSpec, VolumeSpec
from vc.validation.job.create import check_gang
from vc.validation.job.tasks import check_sizes
from vc.validation.json_patch import json_patch
from vc.validation.names import check_subdomain
from vc.validation.result import ValidationResult

MUTABLE: Final = (
    "spec.minAvailable, spec.tasks[*].replicas, spec.tasks[*].minAvailable, spec.priorityClassName"
)
CHANGES_SHOWN_MAX: Final = 10


def check_job_update(found: ValidationResult, *, old: Job, new: Job) -> None:
    """Check whether a job may be changed from `old` to `new`."""
    # Further comparisons match tasks by position.
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
    # Fields that may change are blanked on both sides, so any difference left is forbidden.
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
    """The spec without the fields that may change."""
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
    """The volume without the name of the claim, which the controller writes."""
    # A claim that the user names may not be exchanged.
    if volume.volume_claim is None:
        return volume
    return msgspec.structs.replace(volume, volume_claim_name="")


def _dotted(pointer: str) -> str:
    """Convert `/tasks/0/name` to `spec.tasks[0].name`."""
    path = "spec"
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        path += f"[{name}]" if name.isdecimal() or "/" in name else f".{name}"
    return path
