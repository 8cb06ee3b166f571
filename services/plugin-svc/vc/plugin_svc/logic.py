"""Host names, host lists and the three objects of the svc plugin.

The ConfigMap is read before the decision, because it must be updated after a job was scaled. The
other objects are only created: an existing one of this job is accepted. The applier detects an
object of another owner, which the user has to fix.
"""

from typing import Final

from msgspec import structs

from vc.jobplugin.answers import Decorated, Found, ObjectReference
from vc.jobplugin.ownership import create_owned, delete_owned, is_of
from vc.jobs.hosts import hosts, subdomain, variable_name
from vc.jobs.plugins.built_in import announcement_of
from vc.jobs.plugins.flags import Parsed, parse
from vc.messages.effects import Effect, PatchObject
from vc.messages.job_plugins import SVC
from vc.messages.plugins import (
    REMOVE,
    EnvVar,
    JobDecoration,
    PluginRequest,
    TaskDecoration,
)
from vc.messages.topics import MESSAGE_BYTES_MAX
from vc.model.api import keys
from vc.model.api.graft import merge_patch
from vc.model.api.job import Job
from vc.model.api.kinds import CONFIGMAPS, NETWORKPOLICIES, SERVICES
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat

PUBLISH: Final = "publish-not-ready-addresses"
DISABLE_POLICY: Final = "disable-network-policy"
MOUNT_PATH: Final = "/etc/volcano"


SUFFIXES: Final = ("HOSTS", "HOST", "NUM")
SUFFIXES_UPSTREAM: Final = ("HOSTS", "NUM")
"""Suffixes of the variables of a task."""
VARIABLE_BYTES_MIN: Final = 64
"""Minimum size of a variable in an answer."""


class SvcCore:
    """The core of the svc plugin; see `vc.jobplugin.answers.Core`."""

    announcement = announcement_of(SVC)

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat

    def looks_at(self, request: PluginRequest) -> list[ObjectReference]:
        # Only a removal needs all objects; an apply reads the one that it may update.
        if request.verb == REMOVE:
            return _references(request.job)
        return [_references(request.job)[0]]

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:
        """First the objects, then the decoration of pods."""
        parsed = parse(request.arguments, SVC.flags, compat=self._compat)
        if parsed.problem:
            return Decorated(problem=parsed.problem)
        job = request.job
        service = {"spec": _service(job, parsed)}
        effects: list[Effect] = [create_owned(job, SERVICES, job.metadata.name, content=service)]
        # Without the switch, pods of other jobs cannot reach this job's pods.
        if not parsed.switch(DISABLE_POLICY):
            policy = {"spec": _network_policy(job)}
            effects.append(create_owned(job, NETWORKPOLICIES, job.metadata.name, content=policy))
        effects += _keep_configmap(job, found.get(_references(job)[0]), compat=self._compat)
        # An older job-controller needs one decoration per task, which grows
        # with the square of the tasks.
        if not request.takes_shared and (problem := _too_large(job)):
            return Decorated(problem=problem)
        return Decorated(
            decoration=_decoration(job, compat=self._compat, shares=request.takes_shared),
            effects=tuple(effects),
            warnings=parsed.ignored,
        )

    def remove(self, request: PluginRequest, found: Found) -> Decorated:
        """Delete only what this job (by uid) controls."""
        return Decorated(effects=delete_owned(request.job, found))


def configmap_name(job: Job) -> str:
    """Name of the ConfigMap, as in upstream."""
    return f"{job.metadata.name}-svc"


def host_lists(job: Job, *, first_hosts: bool = True) -> dict[str, str]:
    """Data of the ConfigMap: per task a host file, the hosts, the
    first host and the number of hosts.

    The first host (`VC_<TASK>_HOST`) does not exist in Volcano.
    """
    data: dict[str, str] = {}
    for task in job.spec.tasks:
        found = hosts(job, task)
        data[f"{task.name.replace('-', '_')}.host"] = "\n".join(found)
        data[variable_name(task.name, "HOSTS")] = ",".join(found)
        if first_hosts:
            data[variable_name(task.name, "HOST")] = found[0] if found else ""
        data[variable_name(task.name, "NUM")] = str(len(found))
    return data


def _references(job: Job) -> list[ObjectReference]:
    namespace, name = job.metadata.namespace, job.metadata.name
    return [
        ObjectReference(CONFIGMAPS, namespace, configmap_name(job)),
        ObjectReference(SERVICES, namespace, name),
        ObjectReference(NETWORKPOLICIES, namespace, name),
    ]


def _keep_configmap(job: Job, existing: JsonObject | None, *, compat: Compat) -> list[Effect]:
    """Create or update the ConfigMap. Keys that pods of another
    setting refer to are kept up to date."""
    wanted = host_lists(job, first_hosts=compat is Compat.LENIENT)
    if existing is not None and is_of(job, existing):
        there = existing.get("data") or {}
        # Pods of the other setting still refer to these keys.
        wanted |= {key: hosts for key, hosts in host_lists(job).items() if key in there}
    if existing is None or not is_of(job, existing):
        return [create_owned(job, CONFIGMAPS, configmap_name(job), content={"data": wanted})]
    patch = merge_patch(existing.get("data") or {}, wanted)
    if not patch:
        return []
    return [
        PatchObject(
            kind=CONFIGMAPS,
            namespace=job.metadata.namespace,
            name=configmap_name(job),
            patch={"data": patch},
            uid=existing["metadata"]["uid"],
        )
    ]


def _job_labels(job: Job) -> dict[str, str]:
    return {keys.JOB_NAME: job.metadata.name, keys.JOB_NAMESPACE: job.metadata.namespace}


def _service(job: Job, parsed: Parsed) -> JsonObject:
    return {
        "clusterIP": "None",
        "selector": _job_labels(job),
        "publishNotReadyAddresses": parsed.switch(PUBLISH),
    }


def _network_policy(job: Job) -> JsonObject:
    pods = {"matchLabels": _job_labels(job)}
    return {
        "podSelector": pods,
        "ingress": [{"from": [{"podSelector": pods}]}],
        "policyTypes": ["Ingress"],
    }


def _decoration(job: Job, *, compat: Compat, shares: bool) -> JobDecoration:
    """The decoration, which differs between tasks only in subdomains of their templates.

    It is sent once for all tasks if the receiver supports shared decorations.
    """
    name = configmap_name(job)
    suffixes = SUFFIXES if compat is Compat.LENIENT else SUFFIXES_UPSTREAM
    variables = [variable_name(task.name, suffix) for task in job.spec.tasks for suffix in suffixes]
    common = TaskDecoration(
        env=[
            EnvVar(name=each, value_from={"configMapKeyRef": {"name": name, "key": each}})
            for each in variables
        ],
        volumes=[{"name": name, "configMap": {"name": name}}],
        mounts=[{"name": name, "mountPath": MOUNT_PATH}],
        hostname_from_pod=True,
        subdomain=job.metadata.name,
    )
    domains = {task.name: subdomain(job, task) for task in job.spec.tasks}
    if not shares:
        return JobDecoration(
            tasks={n: structs.replace(common, subdomain=domain) for n, domain in domains.items()}
        )
    # Only tasks with another subdomain need their own decoration.
    own = {n: d for n, d in domains.items() if d != common.subdomain}
    tasks = {n: TaskDecoration(subdomain=domain) for n, domain in own.items()}
    return JobDecoration(tasks=tasks, shared=common)


def _too_large(job: Job) -> str:
    """A problem if an answer per task would be too large. It is known
    before the variables are built."""
    tasks = len(job.spec.tasks)
    # Every task lists the variables of all tasks, so the size grows with the square.
    least = tasks * tasks * len(SUFFIXES_UPSTREAM) * VARIABLE_BYTES_MIN
    if least <= MESSAGE_BYTES_MAX:
        return ""
    return (
        f"spec.tasks has {tasks} tasks: variables about each in each take {least} bytes or more and an "
        f"answer takes {MESSAGE_BYTES_MAX} at the most; upgrade the job-controller, which takes them once"
    )
