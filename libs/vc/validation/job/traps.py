"""Warnings about jobs that are accepted but will not do what their authors expect.

Each is a mistake that users were seen to make. None of them refuses the job.
"""

from typing import Final

from vc.jobs.plugins.flags import written_flags
from vc.messages.plugins import PluginAnnouncement
from vc.model.api.job import JobSpec, TaskSpec
from vc.validation.amounts import text
from vc.validation.job.demand import capability_of, gang_amounts
from vc.validation.job.policies import ANY_EVENT, events_of
from vc.validation.pods.pod_template import template_of
from vc.validation.result import ValidationResult
from vc.validation.world import World

TASK_FLAGS: Final = ("chief", "evaluator", "head", "master", "ps", "worker")
"""Plugin arguments whose value is the name of a task."""

NEEDED_TASKS: Final[dict[str, dict[str, str]]] = {
    "mpi": {"worker": "MPI_HOST stays empty"},
    "pytorch": {"master": "MASTER_ADDR, RANK and WORLD_SIZE are not set"},
    "ray": {"head": "no Ray cluster is started"},
}
"""Plugin → task argument → what happens without such a task."""

FIRST_TASKS: Final[dict[str, str]] = {"pytorch": "master", "ray": "head"}
"""Plugin → the argument of the task that its workers join. That task cannot be the workers' too."""

COMPLETED: Final = "TaskCompleted"
ENDS_WITH_MASTER: Final = ("mpi", "pytorch")


def warn_of_traps(found: ValidationResult, spec: JobSpec, *, world: World) -> None:
    """Add all warnings of a job that is created."""
    _other_scheduler(found, spec, world=world)
    _gang_larger_than_queue(found, spec, world=world)
    _gang_with_dependencies(found, spec)
    # Arguments of unknown plugins were refused before.
    for name in sorted(spec.plugins):
        if name in world.plugins:
            _unmatched_arguments(found, spec, world.plugins[name])
    for name in ENDS_WITH_MASTER:
        if name in spec.plugins:
            _master_without_end(found, spec, name)


def _other_scheduler(found: ValidationResult, spec: JobSpec, *, world: World) -> None:
    ours = world.settings.scheduler_names
    for index, task in enumerate(spec.tasks):
        named = template_of(task.template).spec.scheduler_name
        # The pod's own scheduler wins over the job's.
        effective = named or spec.scheduler_name or ours[0]
        if effective not in ours:
            whence = "" if named else "is missing and the job's is "
            found.warn(
                f"spec.tasks[{index}].template.spec.schedulerName",
                f"{whence}{effective[:63]!r}: another scheduler places these pods, without the "
                f"gang; write {ours[0]}",
            )


def _gang_larger_than_queue(found: ValidationResult, spec: JobSpec, *, world: World) -> None:
    caps = capability_of(world, spec.queue)
    # Without a capability the queue may use the whole cluster.
    if not caps:
        return
    needed = gang_amounts(spec)
    for resource in sorted(needed):
        units, queue = caps.get(resource, (needed[resource], ""))
        if needed[resource] > units:
            found.warn(
                "spec.minAvailable",
                f"{spec.min_available} pods need {resource} {text(resource, needed[resource])}, "
                f"more than the capability {text(resource, units)} of queue {queue!r}: "
                "the job can never start",
            )


def _gang_with_dependencies(found: ValidationResult, spec: JobSpec) -> None:
    waiting = [task.name for task in spec.tasks if task.depends_on and task.depends_on.name]
    first = sum(task.replicas for task in spec.tasks if task.name not in waiting)
    # The controller counts only tasks that may start, so this is a warning and no refusal.
    if waiting and spec.min_available > first:
        found.warn(
            "spec.minAvailable",
            f"is {spec.min_available}, but {', '.join(waiting)[:60]} wait for other tasks "
            f"(dependsOn) and only {first} pods start at first; the gang counts only those until "
            f"then. Write minAvailable {first}",
        )


def _unmatched_arguments(
    found: ValidationResult, spec: JobSpec, plugin: PluginAnnouncement
) -> None:
    tasks = {task.name for task in spec.tasks}
    flags = written_flags(spec.plugins[plugin.plugin])
    known = {argument.name: argument.default for argument in plugin.arguments}
    path = f"spec.plugins[{plugin.plugin}]"
    for flag in sorted(flags):
        if flag in TASK_FLAGS and flags[flag] not in tasks:
            found.warn(path, f"--{flag}={flags[flag][:63]}: no task of this job has that name")
        elif flag not in known and flag not in TASK_FLAGS:
            listed = ", ".join(f"--{name}" for name in known) or "none"
            found.warn(path, f"--{flag[:40]} is ignored: this plugin takes {listed}")
    first = FIRST_TASKS.get(plugin.plugin, "")
    # The plugin would refuse this for ever, because arguments cannot be changed after creation.
    if first and flags.get("worker") == flags.get(first, known.get(first)):
        found.warn(
            path, f"--worker={flags['worker'][:63]} is also the task of --{first}: no pod starts"
        )
    # A given argument was checked above; here only defaults can fail to match.
    for flag, outcome in NEEDED_TASKS.get(plugin.plugin, {}).items():
        name = known.get(flag, flag)
        if flag not in flags and name not in tasks:
            found.warn(
                path, f"no task is named {name!r}, so {outcome}; add --{flag}=NAME of your task"
            )


def _master_without_end(found: ValidationResult, spec: JobSpec, plugin: str) -> None:
    master = written_flags(spec.plugins[plugin]).get("master", "master")
    # With one task the job ends with it.
    if len(spec.tasks) < 2 or _ends_job(spec, None):
        return
    for index, task in enumerate(spec.tasks):
        if task.name == master and not _ends_job(spec, task):
            found.warn(
                f"spec.tasks[{index}].policies",
                f"the {plugin} master has no TaskCompleted policy, so the job goes on when it "
                "ends; add event: TaskCompleted, action: CompleteJob",
            )


def _ends_job(spec: JobSpec, task: TaskSpec | None) -> bool:
    """Whether a policy handles completion of the task or, without one, of any task of the job."""
    policies = task.policies if task is not None else spec.policies
    return any({COMPLETED, ANY_EVENT} & set(events_of(policy)) for policy in policies)
