"""The tasks of a job: names, sizes, policies, templates, partitions, NUMA, order."""

from typing import Final

from vc.model.api.job import JobSpec, TaskSpec
from vc.model.compat import Compat
from vc.model.values.quantity import MILLI, QuantityError, parse_quantity
from vc.validation.graph import find_cycle, unknown_names
from vc.validation.job.policies import check_policies
from vc.validation.names import LABEL_LENGTH_MAX, check_label, check_qualified
from vc.validation.pods.pod_template import Template, check_template, read_template
from vc.validation.result import ValidationResult
from vc.validation.topology import check_topology

TASKS_MAX: Final = 1000
"""Limit of tasks per job, because every task adds to the patch and to the checks."""

TOPOLOGY_POLICIES: Final = ("", "none", "best-effort", "restricted", "single-numa-node")
NO_TOPOLOGY: Final = ("", "none")
_NOT_A_DAG: Final = (
    "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)"
)


def check_tasks(found: ValidationResult, spec: JobSpec, *, job_name: str, compat: Compat) -> None:
    """Check the tasks of a job that is created."""
    if not spec.tasks:
        found.refuse(
            "spec.tasks",
            "No task specified in job spec; add at least one",
            value=[],
            upstream="No task specified in job spec",
        )
        return
    # Refused before the loop, because checking and reporting so many tasks is expensive.
    if len(spec.tasks) > TASKS_MAX:
        found.refuse("spec.tasks", f"more than {TASKS_MAX} tasks; raise replicas instead")
        return
    positions: dict[str, int] = {}
    for index, task in enumerate(spec.tasks):
        path = f"spec.tasks[{index}]"
        # Pods are named after their task, so equal names would collide.
        if task.name in positions:
            found.refuse(
                f"{path}.name",
                f"is also the name of tasks[{positions[task.name]}]; give each task its own",
                value=task.name,
                upstream=f"duplicated task name {task.name}",
            )
        positions.setdefault(task.name, index)
        check_sizes(found, path, task)
        _check_task(found, path, task, compat=compat)
        _check_pod_name(found, path, f"{job_name}-{task.name}", position=index, task=task)
    _check_order(found, spec.tasks)


def check_sizes(found: ValidationResult, path: str, task: TaskSpec) -> None:
    """Check replicas, minimum and partitions of a task. This is
    also checked when a job is scaled."""
    if task.replicas < 0:
        found.refuse(
            f"{path}.replicas",
            "must be 0 or more",
            value=task.replicas,
            upstream=f"'replicas' < 0 in task: {task.name}",
        )
    if task.min_available is not None:
        if task.min_available < 0:
            found.refuse(f"{path}.minAvailable", "must be 0 or more", value=task.min_available)
        if task.min_available > task.replicas:
            found.refuse(
                f"{path}.minAvailable",
                f"is more than replicas {task.replicas}; lower it or raise replicas",
                value=task.min_available,
                upstream=f"'minAvailable' is greater than 'replicas' in task: {task.name}",
            )
    _check_partitions(found, path, task)


def _check_partitions(found: ValidationResult, path: str, task: TaskSpec) -> None:
    policy = task.partition_policy
    if policy is None:
        return
    product = policy.total_partitions * policy.partition_size
    if policy.total_partitions < 1 or policy.partition_size < 1 or policy.min_partitions < 0:
        found.refuse(
            f"{path}.partitionPolicy",
            "totalPartitions and partitionSize must be 1 or more, minPartitions 0 or more",
        )
    elif product != task.replicas:
        found.refuse(
            f"{path}.partitionPolicy",
            f"totalPartitions {policy.total_partitions} x partitionSize {policy.partition_size} = "
            f"{product} must equal replicas {task.replicas}",
        )
    least = policy.min_partitions * policy.partition_size
    # The minimum of a partitioned task follows from its partitions.
    if policy.min_partitions > 0 and task.min_available not in (None, least):
        found.refuse(
            f"{path}.minAvailable",
            f"must equal minPartitions {policy.min_partitions} x partitionSize "
            f"{policy.partition_size} = {least}; leave it out",
            value=task.min_available,
        )
    check_topology(found, f"{path}.partitionPolicy.networkTopology", policy.network_topology)


def _check_task(found: ValidationResult, path: str, task: TaskSpec, *, compat: Compat) -> None:
    if task.name:
        check_label(found, f"{path}.name", task.name)
    if task.max_retry < -1:
        found.refuse(f"{path}.maxRetry", "must be -1 (no limit) or more", value=task.max_retry)
    check_policies(found, f"{path}.policies", task.policies, compat=compat)
    template = read_template(found, f"{path}.template", task.template)
    if template is not None:
        check_template(found, f"{path}.template", template, compat=compat)
        _check_numa(found, path, task, template=template)


def _check_pod_name(
    found: ValidationResult, path: str, prefix: str, *, position: int, task: TaskSpec
) -> None:
    """Check the pod name `<job>-<task>-<index>`.

    As in upstream, the position of the task is used as the index. If only the name of the last pod
    is too long for a host name, that is a warning.
    """
    name = f"{prefix}-{position}"
    check_qualified(found, f"{path}.name", name, what="the pod name made of job and task")
    last = f"{prefix}-{max(task.replicas - 1, 0)}"
    # Upstream accepts such a job, so the length of later names is only a warning.
    if len(name) <= LABEL_LENGTH_MAX < len(last):
        found.warn(
            f"{path}.name",
            f"pod {last[-20:]!r} has {len(last)} characters, more than the {LABEL_LENGTH_MAX} of a "
            "host name; shorten the job's or the task's name",
        )


def _check_numa(found: ValidationResult, path: str, task: TaskSpec, *, template: Template) -> None:
    if task.topology_policy not in TOPOLOGY_POLICIES:
        allowed = ", ".join(TOPOLOGY_POLICIES[1:])
        found.refuse(
            f"{path}.topologyPolicy", f"must be one of {allowed}", value=task.topology_policy
        )
        return
    if task.topology_policy in NO_TOPOLOGY:
        return
    spec = template.spec
    for kind, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
    ):
        for index, container in enumerate(containers):
            resources = container.resources
            # Limits are the default of requests.
            cpu = resources.requests.get("cpu", resources.limits.get("cpu", 0))
            if not _whole_cpus(cpu):
                found.refuse(
                    f"{path}.template.spec.{kind}[{index}].resources.requests[cpu]",
                    f"topologyPolicy {task.topology_policy} needs a whole number of CPUs, "
                    "1 or more",
                    value=cpu,
                )


def _whole_cpus(cpu: str | float) -> bool:
    try:
        milli = parse_quantity(cpu, decimals=MILLI)
    except QuantityError:
        return True  # reported where quantities are checked
    return milli > 0 and milli % 1000 == 0


def _check_order(found: ValidationResult, tasks: list[TaskSpec]) -> None:
    """Check that dependsOn is a DAG of existing names."""
    needs = {task.name: task.depends_on.name if task.depends_on else [] for task in tasks}
    # An unknown name is reported by itself, as a cycle through it cannot exist.
    for name, need in unknown_names(needs):
        found.refuse(
            "spec.tasks.dependsOn",
            f"task {name!r} depends on a task that is not in this job, so it is not a DAG; "
            "name one that is",
            value=need,
            upstream=_NOT_A_DAG,
        )
    cycle = find_cycle(needs)
    if cycle:
        found.refuse(
            "spec.tasks.dependsOn",
            f"is not a DAG: {' → '.join(cycle[:10])}; remove one of these dependencies",
            upstream=_NOT_A_DAG,
        )
