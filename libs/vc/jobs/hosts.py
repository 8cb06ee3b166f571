"""Host names of the pods of a job, as in DNS and in the environment of pods.

A pod is reachable as `<hostname>.<subdomain>`. By default these are the name of the pod and the
name of the job. A template with an explicit hostname sets the same one for every pod of the
task, so only one host is listed.
"""

from vc.model.api.job import Job, TaskSpec
from vc.model.api.outline import pod_spec_of
from vc.model.api.struct import JsonObject


def pod_spec(task: TaskSpec) -> JsonObject:
    """The outline of the pod spec of a task: names, ports, resources, and no values."""
    return pod_spec_of(task.template)


def hostnames(job: Job, task: TaskSpec) -> list[str]:
    """Host names without the domain, in the order of indices."""
    # An explicit host name is the same for all pods of the task.
    explicit = pod_spec(task).get("hostname")
    if explicit:
        return [explicit]
    return [f"{job.metadata.name}-{task.name}-{index}" for index in range(task.replicas)]


def subdomain(job: Job, task: TaskSpec) -> str:
    """Name of the headless Service under which the hosts are found."""
    given: str = pod_spec(task).get("subdomain") or job.metadata.name
    return given


def hosts(job: Job, task: TaskSpec) -> list[str]:
    """`<hostname>.<subdomain>` of every pod, in the order of indices."""
    domain = subdomain(job, task)
    return [f"{name}.{domain}" for name in hostnames(job, task)]


def task_named(job: Job, name: str) -> TaskSpec | None:
    """The task of that name, or None."""
    return next((task for task in job.spec.tasks if task.name == name), None)


def no_such_task(job: Job, name: str, *, argument: str) -> str:
    """Problem text that lists the names of existing tasks."""
    names = ", ".join(task.name for task in job.spec.tasks) or "none"
    return f"argument --{argument}={name}: the job has no such task; its tasks are {names}"


def same_task(name: str, *, argument: str, other: str) -> str:
    """Problem text for two arguments that name one task."""
    return (
        f"argument --{argument}={name}: this task is the {other} (--{other}), and no task can be "
        f"both; name another task or leave out --{argument}"
    )


def variable_name(task: str, suffix: str) -> str:
    """`VC_<TASK>_<suffix>`, with characters replaced that a variable name cannot contain."""
    return f"VC_{task.replace('-', '_').upper()}_{suffix}"
