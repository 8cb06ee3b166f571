"""dependsOn: which tasks may have pods yet.

A task that waits for another has no pods, so a gang that counts them would wait for ever (upstream
leaves this trap to the user). Here the pod group counts only released tasks, and grows when the
next one is released. A task that was released once stays so.
"""

from vc_job_controller.logic.members import POD_RUNNING
from vc_job_controller.logic.sight import Sight
from vc_model.job import TaskSpec

_ANY = "any"


def released_tasks(sight: Sight) -> list[TaskSpec]:
    """Tasks whose pods may be made, in the order of the job."""
    return [task for task in sight.job.spec.tasks if _is_released(sight, task)]


def _is_released(sight: Sight, task: TaskSpec) -> bool:
    depends = task.depends_on
    if depends is None or not depends.name:
        return True
    if sight.members.of(task.name) or sight.counted.completed.get(task.name):
        return True
    by_name = {other.name: other for other in sight.job.spec.tasks}
    ready = [_is_up(sight, by_name[name]) for name in depends.name if name in by_name]
    if depends.iteration == _ANY and len(depends.name) > 1:
        return any(ready)
    return len(ready) == len(depends.name) and all(ready)


def _is_up(sight: Sight, task: TaskSpec) -> bool:
    """Enough of its pods have succeeded, or run with every container ready."""
    up = len(sight.counted.completed.get(task.name, frozenset()))
    for index, member in sight.members.of(task.name).items():
        if member.terminating or member.phase != POD_RUNNING:
            continue
        if index not in sight.counted.alive.get(task.name, frozenset()):
            continue
        statuses = member.pod.status.container_statuses
        up += bool(statuses) and all(status.ready for status in statuses)
    return up >= (task.min_available or 0)
