"""Writing the status: only what changed, with a limited rate for counters.

The patch names the resourceVersion that the decision is based on. A decision on an older
version gets a conflict and is made again. Phases and intent are written at once. Counters
change with every pod and wait until `counters_due` (`pacing.py`), so a job of a thousand pods
costs a few writes and not a thousand.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.job_controller.logic.lifecycle.policies import awaited_losses
from vc.job_controller.logic.lifecycle.steps import certain_happenings
from vc.job_controller.logic.notes import LOST, read_notes, write_notes
from vc.job_controller.logic.observation import Observation
from vc.job_controller.logic.observed import Blocker
from vc.job_controller.logic.phases import FINAL, LIVE, RESTARTING
from vc.job_controller.logic.runs import with_run
from vc.messages.effects import PatchObject
from vc.model.api.graft import merge_patch, to_json
from vc.model.api.job import JobCondition, JobState, JobStatus
from vc.model.api.kinds import JOBS
from vc.model.api.struct import JsonObject
from vc.model.values.times import format_duration, format_time, parse_time

_COUNTERS: Final = frozenset(
    {"pending", "running", "succeeded", "failed", "terminating", "unknown", "taskStatusCount"}
)
_RESOURCES: Final = "controlledResources"
_URGENT_NOTES: Final = frozenset({"restart", "command"})

BLOCKER_REASONS: Final = frozenset(
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
"""Reasons of blockers. They are removed from the status when the blocker is gone."""


def status_after(
    observation: Observation, *, phase: str, blocker: Blocker | None, now: float
) -> JobStatus:
    """The status after this decision. `observation` is made under the status after the step."""
    before = observation.seen.job.status
    state = _state(observation.job.status.state, phase=phase, blocker=blocker)
    status = msgspec.structs.replace(
        _counters(observation, phase),
        state=state,
        min_available=observation.job.spec.min_available,
        controlled_resources=_resources(observation, phase, now),
    )
    # The time of a transition must not change while the phase stays the same.
    if phase == before.state.phase:
        return status
    at = format_time(now)
    created = parse_time(observation.job.metadata.creation_timestamp)
    # One condition per phase, with the time of the latest transition to it.
    conditions = [c for c in before.conditions if c.status != phase]
    return msgspec.structs.replace(
        status,
        state=msgspec.structs.replace(state, last_transition_time=at),
        conditions=[*conditions, JobCondition(status=phase, last_transition_time=at)],
        running_duration=format_duration(now - created) if phase in FINAL and created else None,
    )


def _state(state: JobState, *, phase: str, blocker: Blocker | None) -> JobState:
    if blocker is not None:
        return msgspec.structs.replace(
            state, phase=phase, reason=blocker.reason, message=blocker.message
        )
    # Only reasons of blockers are removed; the reason of an order stays with its phase.
    if state.reason in BLOCKER_REASONS:
        return msgspec.structs.replace(state, phase=phase, reason="", message="")
    return msgspec.structs.replace(state, phase=phase)


def _counters(observation: Observation, phase: str) -> JobStatus:
    """The counters. A finished job keeps its final counts, even after its pods are cleaned up."""
    counted, status = observation.counted, observation.job.status
    live = msgspec.structs.replace(
        status,
        pending=counted.pending,
        running=counted.running,
        unknown=counted.unknown,
        terminating=counted.terminating,
    )
    # The pods of a finished job may be cleaned up, and its results must not go back to zero.
    if phase in FINAL and observation.seen.job.status.state.phase == phase:
        return live
    return msgspec.structs.replace(
        live,
        succeeded=counted.succeeded,
        failed=counted.failed,
        task_status_count=counted.task_states(),
    )


def _resources(observation: Observation, phase: str, now: float) -> dict[str, str]:
    notes = read_notes(observation.job.status.controlled_resources)
    # Indices that may only seem lost stay noted as alive, so that a real loss is detected later.
    alive = {
        task: at | observation.unsure.get(task, frozenset())
        for task, at in observation.counted.alive.items()
    }
    return write_notes(
        msgspec.structs.replace(
            notes,
            # A finished job loses no pods: their clean-up must not look like evictions.
            alive={} if phase in FINAL else alive,
            completed=observation.counted.completed,
            lost=_losses(observation, phase, now),
            runs=_runs(observation, notes.runs, phase, now),
            # The scope belongs to one restart. A later one must not inherit it.
            scope=notes.scope if phase == RESTARTING else None,
        )
    )


def _runs(
    observation: Observation, recorded: Mapping[str, str], phase: str, now: float
) -> Mapping[str, str]:
    """The records of runs, with one for this run if the phase leaves Pending."""
    before = observation.seen.job.status.state.phase
    if phase == before:
        return recorded
    version = observation.job.status.version
    pods = [member.pod for member in observation.members if member.version == version]
    return with_run(recorded, pods, before=before, phase=phase, at=format_time(now))


def _losses(observation: Observation, phase: str, now: float) -> dict[str, dict[int, float]]:
    """Losses to note. They are searched only if a policy has a
    time-out, because this reads every pod."""
    job = observation.job
    policies = [*job.spec.policies, *(p for task in job.spec.tasks for p in task.policies)]
    if phase not in LIVE or all(policy.timeout is None for policy in policies):
        return {}
    return awaited_losses(job, certain_happenings(observation, now))


def status_patch(
    observation: Observation, after: JobStatus, *, counters_due: bool
) -> PatchObject | None:
    """The patch to write, or None if no change is due."""
    job = observation.seen.job
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
        # The precondition makes a decision on an older status fail
        # instead of overwriting a newer one.
        resource_version=job.metadata.resource_version,
    )


def is_paced(patch: JsonObject) -> bool:
    """Whether a patch contains only counters and notes that may wait with them."""
    if not patch.keys() <= _COUNTERS | {_RESOURCES}:
        return False
    notes = patch.get(_RESOURCES) or {}
    # Intent must be written at once: a crash would forget a restart, a Command or a loss.
    return not any(note in _URGENT_NOTES or note.startswith(LOST) for note in notes)
