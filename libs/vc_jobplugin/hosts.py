"""Host names of a job's pods, as DNS and the environment of pods know them.

A pod is reached as `<hostname>.<subdomain>`. Unless the template says otherwise these are the pod's
own name and the job's. A template with an explicit hostname gives every pod of the task the same
one, so only one host is listed.
"""

from vc_model.job import Job, TaskSpec
from vc_model.outline import pod_spec_of
from vc_model.struct import JsonObject


def pod_spec(task: TaskSpec) -> JsonObject:
    """What is known of the spec of the task's pods: names, ports, resources, and no values."""
    return pod_spec_of(task.template)


def hostnames(job: Job, task: TaskSpec) -> list[str]:
    """Without the domain, in the order of indices."""
    explicit = pod_spec(task).get("hostname")
    if explicit:
        return [explicit]
    return [f"{job.metadata.name}-{task.name}-{index}" for index in range(task.replicas)]


def subdomain(job: Job, task: TaskSpec) -> str:
    """The name of the headless Service the hosts are found under."""
    given: str = pod_spec(task).get("subdomain") or job.metadata.name
    return given


def hosts(job: Job, task: TaskSpec) -> list[str]:
    """`<hostname>.<subdomain>` of every pod, in the order of indices."""
    domain = subdomain(job, task)
    return [f"{name}.{domain}" for name in hostnames(job, task)]


def task_named(job: Job, name: str) -> TaskSpec | None:
    """The task, if the job has it."""
    return next((task for task in job.spec.tasks if task.name == name), None)


def no_such_task(job: Job, name: str, *, argument: str) -> str:
    """A problem that says what could have been written."""
    names = ", ".join(task.name for task in job.spec.tasks) or "none"
    return f"argument --{argument}={name}: the job has no such task; its tasks are {names}"


def variable_name(task: str, suffix: str) -> str:
    """`VC_<TASK>_<suffix>`, with what a variable's name may not have replaced."""
    return f"VC_{task.replace('-', '_').upper()}_{suffix}"
