"""Writing the status: only what changed, and counters no more often than people can read.

The patch names the resourceVersion it was decided on, so whoever decided on something older is told
so and looks again. Phases and intent are written at once; counters, which change with every pod,
wait until `counters_due` (`pacing.py`), so that a job of a thousand pods costs a few writes and not a thousand.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc_job_controller.logic.notes import LOST, read_notes, write_notes
from vc_job_controller.logic.observed import Trouble
from vc_job_controller.logic.phases import FINAL, LIVE, RESTARTING
from vc_job_controller.logic.policies import awaited_losses
from vc_job_controller.logic.runs import with_run
from vc_job_controller.logic.sight import Sight
from vc_job_controller.logic.steps import certain_happenings
from vc_messages.effects import PatchObject
from vc_model.graft import merge_patch, to_json
from vc_model.job import JobCondition, JobState, JobStatus
from vc_model.kinds import JOBS
from vc_model.struct import JsonObject
from vc_model.times import format_duration, format_time, parse_time

_COUNTERS: Final = frozenset(
    {"pending", "running", "succeeded", "failed", "terminating", "unknown", "taskStatusCount"}
)
_RESOURCES: Final = "controlledResources"
_URGENT_NOTES: Final = frozenset({"restart", "command"})

TROUBLES: Final = frozenset(
    {
        "QueueNotFound",
        "ClaimNotFound",
        "PluginUnknown",
        "PluginProblem",
        "PluginPending",
        "InvalidResources",
        "WriteRefused",
        "ReadRefused",
        "NameTaken",
    }
)
"""Reasons that are taken back when the trouble is over."""


def settled_status(sight: Sight, *, phase: str, trouble: Trouble | None, now: float) -> JobStatus:
    """The status after this decision: `sight` is the look under the stepped status."""
    before = sight.seen.job.status
    state = _state(sight.job.status.state, phase=phase, trouble=trouble)
    status = msgspec.structs.replace(
        _counters(sight, phase),
        state=state,
        min_available=sight.job.spec.min_available,
        controlled_resources=_resources(sight, phase, now),
    )
    if phase == before.state.phase:
        return status
    at = format_time(now)
    born = parse_time(sight.job.metadata.creation_timestamp)
    conditions = [c for c in before.conditions if c.status != phase]
    return msgspec.structs.replace(
        status,
        state=msgspec.structs.replace(state, last_transition_time=at),
        conditions=[*conditions, JobCondition(status=phase, last_transition_time=at)],
        running_duration=format_duration(now - born) if phase in FINAL and born else None,
    )


def _state(state: JobState, *, phase: str, trouble: Trouble | None) -> JobState:
    if trouble is not None:
        return msgspec.structs.replace(
            state, phase=phase, reason=trouble.reason, message=trouble.message
        )
    if state.reason in TROUBLES:
        return msgspec.structs.replace(state, phase=phase, reason="", message="")
    return msgspec.structs.replace(state, phase=phase)


def _counters(sight: Sight, phase: str) -> JobStatus:
    """A job that is over keeps what it has reached, also when its pods are cleaned away."""
    counted, status = sight.counted, sight.job.status
    live = msgspec.structs.replace(
        status,
        pending=counted.pending,
        running=counted.running,
        unknown=counted.unknown,
        terminating=counted.terminating,
    )
    if phase in FINAL and sight.seen.job.status.state.phase == phase:
        return live
    return msgspec.structs.replace(
        live,
        succeeded=counted.succeeded,
        failed=counted.failed,
        task_status_count=counted.task_states(),
    )


def _resources(sight: Sight, phase: str, now: float) -> dict[str, str]:
    notes = read_notes(sight.job.status.controlled_resources)
    alive = {
        task: at | sight.unsure.get(task, frozenset()) for task, at in sight.counted.alive.items()
    }
    return write_notes(
        msgspec.structs.replace(
            notes,
            alive={} if phase in FINAL else alive,
            completed=sight.counted.completed,
            lost=_losses(sight, phase, now),
            runs=_runs(sight, notes.runs, phase, now),
            scope=notes.scope if phase == RESTARTING else None,
        )
    )


def _runs(sight: Sight, recorded: Mapping[str, str], phase: str, now: float) -> Mapping[str, str]:
    """With a record of this run's pods when the phase leaves Pending."""
    before = sight.seen.job.status.state.phase
    if phase == before:
        return recorded
    version = sight.job.status.version
    pods = [member.pod for member in sight.members if member.version == version]
    return with_run(recorded, pods, before=before, phase=phase, at=format_time(now))


def _losses(sight: Sight, phase: str, now: float) -> dict[str, dict[int, float]]:
    """Looked for only where a policy can wait: it means to look at every pod once more."""
    job = sight.job
    policies = [*job.spec.policies, *(p for task in job.spec.tasks for p in task.policies)]
    if phase not in LIVE or all(policy.timeout is None for policy in policies):
        return {}
    return awaited_losses(job, certain_happenings(sight, now))


def status_patch(sight: Sight, after: JobStatus, *, counters_due: bool) -> PatchObject | None:
    """What to write; None when nothing changed that is due."""
    job = sight.seen.job
    patch = merge_patch(to_json(job.status), to_json(after))
    if not patch or (not counters_due and is_paced(patch)):
        return None
    return PatchObject(
        kind=JOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        patch={"status": patch},
        subresource="status",
        uid=job.metadata.uid,
        resource_version=job.metadata.resource_version,
    )


def is_paced(patch: JsonObject) -> bool:
    """Whether a patch brings nothing but counters and what goes with them."""
    if not patch.keys() <= _COUNTERS | {_RESOURCES}:
        return False
    notes = patch.get(_RESOURCES) or {}
    return not any(note in _URGENT_NOTES or note.startswith(LOST) for note in notes)
