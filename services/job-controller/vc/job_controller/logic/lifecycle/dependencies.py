"""dependsOn: which tasks may have pods now.

A task that waits for another has no pods, so a gang that counts them would wait for ever (upstream
has this problem). Here the PodGroup counts only released tasks, and its minimum grows when the next
task is released. A released task stays released.
"""

from vc.job_controller.logic.job_pods import POD_RUNNING
from vc.job_controller.logic.observation import Observation
from vc.model.api.job import TaskSpec

_ANY = "any"


def released_tasks(observation: Observation) -> list[TaskSpec]:
    """Tasks whose pods may be created, in the order of the job."""
    return [task for task in observation.job.spec.tasks if _is_released(observation, task)]


def _is_released(observation: Observation, task: TaskSpec) -> bool:
    depends = task.depends_on
    if depends is None or not depends.name:
        return True
    # A task stays released even if the tasks it depends on fail later.
    if observation.members.of(task.name) or observation.counted.completed.get(task.name):
        return True
    by_name = {other.name: other for other in observation.job.spec.tasks}
    ready = [_is_up(observation, by_name[name]) for name in depends.name if name in by_name]
    if depends.iteration == _ANY and len(depends.name) > 1:
        return any(ready)
    return len(ready) == len(depends.name) and all(ready)


def _is_up(observation: Observation, task: TaskSpec) -> bool:
    """Whether enough pods of a task have succeeded, or run with every container ready."""
    up = len(observation.counted.completed.get(task.name, frozenset()))
    for index, member in observation.members.of(task.name).items():
        if member.terminating or member.phase != POD_RUNNING:
            continue
        # Pods that a restart will delete do not count.
        if index not in observation.counted.alive.get(task.name, frozenset()):
            continue
        statuses = member.pod.status.container_statuses
        up += bool(statuses) and all(status.ready for status in statuses)
    return up >= (task.min_available or 0)
