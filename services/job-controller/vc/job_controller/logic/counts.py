"""Counting pods for the status.

Each index of a task counts once. An index that succeeded counts as succeeded from then on, even if
its pod or node is gone. A pod that is terminating, or is to be deleted, counts as terminating
whatever its phase is: a pod that was stopped and exits with 0 has not done its work.
"""

from collections import Counter
from collections.abc import Set as AbstractSet

import msgspec

from vc.job_controller.logic.job_pods import (
    POD_FAILED,
    POD_PENDING,
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_UNKNOWN,
    JobPod,
    JobPods,
)
from vc.job_controller.logic.notes import Notes
from vc.model.api.job import Job, TaskState

_SHOWN = (POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN)
_TERMINATING = "Terminating"


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the pods of a job, in total and by task."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    unknown: int = 0
    terminating: int = 0
    by_task: dict[str, dict[str, int]] = {}
    alive: dict[str, frozenset[int]] = {}
    """Indices whose pods exist, are not terminating and have not succeeded."""
    completed: dict[str, frozenset[int]] = {}
    """Indices that have succeeded in this attempt."""

    @property
    def busy(self) -> int:
        """Pods that are alive or still terminating."""
        return self.pending + self.running + self.unknown + self.terminating

    def task_states(self) -> dict[str, TaskState]:
        """The counts by task, as `status.taskStatusCount`."""
        return {task: TaskState(phase=phases) for task, phases in self.by_task.items() if phases}


def count_pods(
    job: Job, members: JobPods, *, notes: Notes, pods_to_delete: AbstractSet[str]
) -> Counts:
    """Count each index once. `pods_to_delete` are uids of pods that are to be deleted."""
    by_task: dict[str, dict[str, int]] = {}
    alive: dict[str, frozenset[int]] = {}
    completed: dict[str, frozenset[int]] = {}
    total: Counter[str] = Counter()
    for task in job.spec.tasks:
        pods = members.of(task.name)
        noted = notes.completed.get(task.name, frozenset())
        seen = {i for i, m in pods.items() if _as(m, pods_to_delete) == POD_SUCCEEDED}
        # Completed indices beyond the replicas do not count after the task was scaled down.
        done = frozenset(i for i in noted | seen if i < task.replicas)
        counts: Counter[str] = Counter({POD_SUCCEEDED: len(done)})
        living: set[int] = set()
        for index, member in sorted(pods.items()):
            if index in done:
                continue
            counted = _as(member, pods_to_delete)
            counts[counted] += 1
            if counted != _TERMINATING:
                living.add(index)
        total.update(counts)
        by_task[task.name] = {phase: counts[phase] for phase in _SHOWN if counts[phase]}
        alive[task.name] = frozenset(living)
        completed[task.name] = done
    # Pods of removed tasks still use resources until they are gone.
    total.update({_TERMINATING: sum(1 for member in members.of_removed_tasks if not member.ended)})
    return Counts(
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


def _as(member: JobPod, pods_to_delete: AbstractSet[str]) -> str:
    if member.terminating or member.pod.metadata.uid in pods_to_delete:
        return _TERMINATING
    return member.phase if member.phase in _SHOWN else POD_UNKNOWN
