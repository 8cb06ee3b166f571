"""Sizes of what plugins generate for a job: host lists in a ConfigMap, in variables, in a Secret.

Each has a fixed limit: a ConfigMap or Secret of 1 MiB, a variable of 128 KiB, an object of 1.5 MiB
in etcd. A job beyond one of them would be accepted and never start, so it is refused here. Sizes
are computed without building the lists, because replicas may be any number.
"""

from typing import Final

from vc.jobs.hosts import variable_name
from vc.jobs.plugins.forced import with_forced
from vc.model.api.job import JobSpec, TaskSpec
from vc.model.api.struct import JsonObject
from vc.validation.result import ValidationResult
from vc.validation.world import World

DOCUMENT_BYTES_MAX: Final = 1 << 20
"""Limit of the API server for the data of a ConfigMap or Secret."""
VARIABLE_BYTES_MAX: Final = 1 << 17
"""Limit of Linux for one `NAME=value` with its terminator (MAX_ARG_STRLEN)."""
OBJECT_BYTES_MAX: Final = 3 << 19
"""Limit of etcd for one object."""

SVC: Final = "svc"
SSH: Final = "ssh"
_SUFFIXES: Final = ("HOSTS", "HOST", "NUM")
_REFERENCE_BYTES: Final = len(
    '{"name":"","valueFrom":{"configMapKeyRef":{"name":"-svc","key":""}}},'
)
_SSH_LINES_BYTES: Final = len("Host \n  HostName .\n  Port 1\n")


def check_host_lists(
    found: ValidationResult, spec: JobSpec, *, job_name: str, world: World
) -> None:
    """Check that the objects which plugins generate for the job can exist."""
    plugins = with_forced(spec.plugins, world.plugins)
    # Only plugins that are on generate lists; ssh alone needs no ConfigMap.
    if SVC in plugins:
        _check_variables(found, spec, job_name)
        _check_document(found, spec, job_name)
        _check_pods(found, spec, job_name)
    if SSH in plugins:
        size = sum(_ssh_bytes(job_name, task) for task in spec.tasks)
        if size > DOCUMENT_BYTES_MAX:
            _refuse_lists(found, spec, size, f"the Secret {job_name}-ssh", plugin=SSH)


def _check_variables(found: ValidationResult, spec: JobSpec, job_name: str) -> None:
    for at, task in enumerate(spec.tasks):
        name = variable_name(task.name, "HOSTS")
        size = len(name) + len("=\0") + _list_bytes(job_name, task)
        if size > VARIABLE_BYTES_MAX:
            found.refuse(
                f"spec.tasks[{at}].replicas",
                f"its variable {name} of plugin svc would have {size} bytes and Linux starts no "
                f"container with one of more than {VARIABLE_BYTES_MAX}; lower it, split the task, "
                "or leave out svc",
                value=task.replicas,
            )


def _check_document(found: ValidationResult, spec: JobSpec, job_name: str) -> None:
    size = 0
    for task in spec.tasks:
        listed = _list_bytes(job_name, task)
        names = (
            len(task.name) + len(".host") + sum(len(variable_name(task.name, s)) for s in _SUFFIXES)
        )
        # The list is stored twice: as a host file and as a variable.
        size += 2 * listed + names + len(str(task.replicas))
    if size > DOCUMENT_BYTES_MAX:
        _refuse_lists(found, spec, size, f"the ConfigMap {job_name}-svc", plugin=SVC)


def _refuse_lists(
    found: ValidationResult, spec: JobSpec, size: int, document: str, *, plugin: str
) -> None:
    found.refuse(
        "spec.tasks",
        f"hosts of that many replicas make {size} bytes of {document}, which takes "
        f"{DOCUMENT_BYTES_MAX} at the most; lower replicas, shorten names, or leave out {plugin}",
        value=sum(task.replicas for task in spec.tasks),
    )


def _check_pods(found: ValidationResult, spec: JobSpec, job_name: str) -> None:
    """Check the size of pods. Every container of every pod refers
    to the variables of every task."""
    references = sum(
        2 * len(variable_name(task.name, suffix)) + len(job_name) + _REFERENCE_BYTES
        for task in spec.tasks
        for suffix in _SUFFIXES
    )
    for at, task in enumerate(spec.tasks):
        containers = sum(len(_listed(task, field)) for field in ("containers", "initContainers"))
        # One task is enough to report, because the variables are the same for all.
        if containers * references > OBJECT_BYTES_MAX:
            found.refuse(
                f"spec.tasks[{at}].template.spec.containers",
                f"variables of plugin svc about {len(spec.tasks)} tasks make {containers * references} "
                f"bytes of a pod and etcd takes {OBJECT_BYTES_MAX} at the most; use fewer tasks with "
                "more replicas, fewer containers, or leave out svc",
                value=containers,
            )
            return


def _hosts(job_name: str, task: TaskSpec) -> tuple[int, int]:
    """Number of hosts, and the bytes of their names without the domain."""
    hostname = _text(task, "hostname")
    # All pods of the task share an explicit host name, so it is listed once.
    if hostname:
        return 1, len(hostname)
    count = max(task.replicas, 0)
    return count, count * (len(job_name) + len(task.name) + len("--")) + _digits(count)


def _list_bytes(job_name: str, task: TaskSpec) -> int:
    """Bytes of `<host>.<domain>,…` of a task."""
    count, names = _hosts(job_name, task)
    return names + count * len(_domain(job_name, task)) + count + max(count - 1, 0)


def _ssh_bytes(job_name: str, task: TaskSpec) -> int:
    count, names = _hosts(job_name, task)
    return 2 * names + count * (len(_domain(job_name, task)) + _SSH_LINES_BYTES)


def _digits(count: int) -> int:
    """Number of digits of all numbers from 0 to count - 1."""
    total, low, width = 0, 0, 1
    while low < count:
        high = min(count, 10**width)
        total += (high - low) * width
        low, width = high, width + 1
    return total


def _domain(job_name: str, task: TaskSpec) -> str:
    return _text(task, "subdomain") or job_name


def _spec(task: TaskSpec) -> JsonObject:
    spec = task.template.get("spec")
    return spec if isinstance(spec, dict) else {}


def _text(task: TaskSpec, field: str) -> str:
    value = _spec(task).get(field)
    return value if isinstance(value, str) else ""


def _listed(task: TaskSpec, field: str) -> list[object]:
    value = _spec(task).get(field)
    return value if isinstance(value, list) else []
