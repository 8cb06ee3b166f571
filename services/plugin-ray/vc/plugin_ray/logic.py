"""Commands of head and workers, and the Service of the head.

A job without the head task, or a task without the container for ray, is a problem: its
pods would run without a cluster.
"""

from typing import Final

from vc.jobplugin.answers import Decorated, Found, ObjectReference
from vc.jobplugin.ownership import create_owned, delete_owned
from vc.jobs.hosts import hosts, no_such_task, pod_spec, same_task, task_named
from vc.jobs.plugins.built_in import announcement_of
from vc.jobs.plugins.flags import Parsed, parse
from vc.messages.job_plugins import RAY
from vc.messages.plugins import (
    REMOVE,
    JobDecoration,
    PluginRequest,
    TaskDecoration,
)
from vc.model.api import keys
from vc.model.api.job import Job, TaskSpec
from vc.model.api.kinds import SERVICES
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat

PORTS: Final = {"gcs": "port", "dashboard": "dashboardPort", "client-server": "clientPort"}
"""Name of a port, in the Service and the container, to the argument with its number."""


class RayCore:
    """The core of the ray plugin; see `vc.jobplugin.answers.Core`."""

    announcement = announcement_of(RAY)

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat

    def looks_at(self, request: PluginRequest) -> list[ObjectReference]:
        """The Service, only for its removal. When it is created, an
        existing one of this job is accepted."""
        return [_service_reference(request.job)] if request.verb == REMOVE else []

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        """The head starts a cluster and workers join it. Other tasks are unchanged."""
        parsed = parse(request.arguments, RAY.flags, compat=self._compat)
        problem = parsed.problem or _wrong(request.job, parsed)
        if problem:
            return Decorated(problem=problem)
        job = request.job
        head = task_named(job, parsed.text("head"))
        worker = _workers(job, parsed)
        assert head is not None, "a job without its head is a problem"
        tasks = {head.name: _head(parsed)}
        # Workers join by the host name of the head, which is why ray forces svc.
        if worker is not None:
            tasks[worker.name] = _worker(parsed, address=next(iter(hosts(job, head)), ""))
        service = {"spec": _service(job, parsed)}
        made = create_owned(job, SERVICES, service_name(job), content=service)
        return Decorated(
            decoration=JobDecoration(tasks=tasks), effects=(made,), warnings=parsed.ignored
        )

    def remove(self, request: PluginRequest, found: Found) -> Decorated:
        """Delete only what this job (by uid) controls."""
        return Decorated(effects=delete_owned(request.job, found))


def service_name(job: Job) -> str:
    """Name of the Service, as in upstream."""
    return f"{job.metadata.name}-head-svc"


def _wrong(job: Job, parsed: Parsed) -> str:
    """What prevents the cluster from starting: a missing task or container."""
    # Without this check the worker task would be reported as missing, although it exists.
    if "worker" in parsed.given and parsed.text("worker") == parsed.text("head"):
        return same_task(parsed.text("worker"), argument="worker", other="head")
    for argument in ("head", "worker"):
        is_head = argument == "head"
        task = task_named(job, parsed.text(argument)) if is_head else _workers(job, parsed)
        # A worker task is optional, unless the user named one.
        if task is None:
            if is_head or argument in parsed.given:
                return no_such_task(job, parsed.text(argument), argument=argument)
            continue
        wanted, names = parsed.text(f"{argument}Container"), _containers(task)
        if wanted not in names:
            there = ", ".join(names) or "none"
            return (
                f"argument --{argument}Container={wanted}: task {task.name} has no such container; "
                f"its containers are {there}"
            )
    return ""


def _workers(job: Job, parsed: Parsed) -> TaskSpec | None:
    """The worker task. A head that is named `worker` does not join itself."""
    name = parsed.text("worker")
    # The same task cannot start the cluster and join it.
    return task_named(job, name) if name != parsed.text("head") else None


def _containers(task: TaskSpec) -> list[str]:
    return [container.get("name", "") for container in pod_spec(task).get("containers") or []]


def _head(parsed: Parsed) -> TaskDecoration:
    started = (
        "ray start --head --block --dashboard-host=0.0.0.0"
        f" --port={parsed.number('port')}"
        f" --dashboard-port={parsed.number('dashboardPort')}"
        f" --ray-client-server-port={parsed.number('clientPort')}"
    )
    name = parsed.text("headContainer")
    return TaskDecoration(
        commands={name: ["sh", "-c", started]},
        ports=[
            {"name": port, "containerPort": parsed.number(flag), "protocol": "TCP"}
            for port, flag in PORTS.items()
        ],
        # Sidecars of the head must not claim its ports.
        ports_only_in=name,
    )


def _worker(parsed: Parsed, *, address: str) -> TaskDecoration:
    joined = f"ray start --block --address={address}:{parsed.number('port')}"
    return TaskDecoration(commands={parsed.text("workerContainer"): ["sh", "-c", joined]})


def _service(job: Job, parsed: Parsed) -> JsonObject:
    """Spec of the Service: one address for the head, whatever its node is."""
    return {
        "type": "ClusterIP",
        "selector": {
            keys.JOB_NAME: job.metadata.name,
            keys.JOB_NAMESPACE: job.metadata.namespace,
            keys.TASK_SPEC: parsed.text("head"),
        },
        "ports": [
            {
                "name": port,
                "port": parsed.number(flag),
                "targetPort": parsed.number(flag),
                "protocol": "TCP",
            }
            for port, flag in PORTS.items()
        ],
    }


def _service_reference(job: Job) -> ObjectReference:
    return ObjectReference(SERVICES, job.metadata.namespace, service_name(job))
