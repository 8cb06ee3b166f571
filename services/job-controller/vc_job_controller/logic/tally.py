"""Counting: what the pods amount to, as the status shows it.

Every place of the job (task, index) counts once. A place that has succeeded counts as succeeded for
good, also when its pod or its node is gone. A pod on its way out, or doomed to be, counts as
terminating, whatever it says of itself: a pod that was told to stop and exits with 0 has not done
its work.
"""

from collections import Counter
from collections.abc import Set as AbstractSet

import msgspec

from vc_job_controller.logic.members import (
    POD_FAILED,
    POD_PENDING,
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_UNKNOWN,
    Member,
    Members,
)
from vc_job_controller.logic.notes import Notes
from vc_model.job import Job, TaskState

_SHOWN = (POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN)
_TERMINATING = "Terminating"


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a job's pods, whole and by task."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    unknown: int = 0
    terminating: int = 0
    by_task: dict[str, dict[str, int]] = {}
    alive: dict[str, frozenset[int]] = {}
    """Places whose pods exist, are not going and have not succeeded."""
    completed: dict[str, frozenset[int]] = {}
    """Places that have succeeded in this attempt."""

    @property
    def busy(self) -> int:
        """Pods that are alive or still going."""
        return self.pending + self.running + self.unknown + self.terminating

    def task_states(self) -> dict[str, TaskState]:
        """As `status.taskStatusCount`."""
        return {task: TaskState(phase=phases) for task, phases in self.by_task.items() if phases}


def tally(job: Job, members: Members, *, notes: Notes, doomed: AbstractSet[str]) -> Tally:
    """Count everything once. `doomed`: uids of pods that must go."""
    by_task: dict[str, dict[str, int]] = {}
    alive: dict[str, frozenset[int]] = {}
    completed: dict[str, frozenset[int]] = {}
    total: Counter[str] = Counter()
    for task in job.spec.tasks:
        pods = members.of(task.name)
        noted = notes.completed.get(task.name, frozenset())
        seen = {i for i, m in pods.items() if _as(m, doomed) == POD_SUCCEEDED}
        done = frozenset(i for i in noted | seen if i < task.replicas)
        counts: Counter[str] = Counter({POD_SUCCEEDED: len(done)})
        living: set[int] = set()
        for index, member in sorted(pods.items()):
            if index in done:
                continue
            counted = _as(member, doomed)
            counts[counted] += 1
            if counted != _TERMINATING:
                living.add(index)
        total.update(counts)
        by_task[task.name] = {phase: counts[phase] for phase in _SHOWN if counts[phase]}
        alive[task.name] = frozenset(living)
        completed[task.name] = done
    total.update({_TERMINATING: sum(1 for member in members.strangers if not member.ended)})
    return Tally(
        pending=total[POD_PENDING],
        running=total[POD_RUNNING],
        succeeded=total[POD_SUCCEEDED],
        failed=total[POD_FAILED],
        unknown=total[POD_UNKNOWN],
        terminating=total[_TERMINATING],
        by_task=by_task,
        alive=alive,
        completed=completed,
    )


def _as(member: Member, doomed: AbstractSet[str]) -> str:
    if member.terminating or member.pod.metadata.uid in doomed:
        return _TERMINATING
    return member.phase if member.phase in _SHOWN else POD_UNKNOWN
