"""TF_CONFIG: the members of the cluster, and the type and index of this pod."""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.jobplugin.answers import Decorated, Found, MakesNothing
from vc.jobplugin.arguments import Flag, described, parse
from vc.jobplugin.hosts import hosts
from vc.jobplugin.roles import roles_of
from vc.messages.plugins import (
    INDEX_SYMBOL,
    EnvVar,
    JobDecoration,
    PluginAnnouncement,
    PluginRequest,
    TaskDecoration,
)
from vc.model.api.job import Job, TaskSpec
from vc.model.compat import Compat

PLUGIN: Final = "tensorflow"
VARIABLE: Final = "TF_CONFIG"

_INDEX: Final = msgspec.Raw(INDEX_SYMBOL.encode())
"""Not valid JSON yet: the number is filled in for each pod."""

ROLES: Final = ("ps", "worker", "chief", "evaluator")
"""Roles as in TensorFlow. Each is also the name of the argument that names its task."""

FLAGS: Final = (
    *(Flag(name=role, default=role, meaning=f"the task that is {role}") for role in ROLES),
    Flag(name="port", default="2222", number=True, least=1, most=65535, meaning="of every pod"),
)


class TensorflowCore(MakesNothing):
    """The core of the tensorflow plugin; see `vc.jobplugin.answers.Core`."""

    announcement = PluginAnnouncement(
        plugin=PLUGIN, version="1", arguments=described(FLAGS), forces=["svc"], makes_nothing=True
    )

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        """Every task gets the whole cluster and its own type. A single pod has no cluster."""
        job, parsed = request.job, parse(request.arguments, FLAGS, compat=self._compat)
        roles, problem = roles_of(job, parsed, ROLES, needed=())
        if problem:
            return Decorated(problem=problem)
        # TensorFlow treats a job without TF_CONFIG as a single process.
        if [task.replicas for task in job.spec.tasks] == [1]:
            return Decorated(decoration=JobDecoration(), warnings=parsed.ignored)
        cluster = _cluster(job, roles, port=parsed.number("port"))
        types = {task.name: role for role, task in roles.items()}
        tasks = {
            # A task without a role is not part of the cluster, and its own name is its type.
            task.name: _decoration(cluster, types.get(task.name, task.name))
            for task in job.spec.tasks
        }
        return Decorated(decoration=JobDecoration(tasks=tasks), warnings=parsed.ignored)


def _cluster(job: Job, roles: Mapping[str, TaskSpec], *, port: int) -> dict[str, list[str]]:
    """`host:port` of the pods of each role. Roles without a pod are left out."""
    listed = {role: [f"{host}:{port}" for host in hosts(job, task)] for role, task in roles.items()}
    return {role: members for role, members in listed.items() if members}


def _decoration(cluster: Mapping[str, list[str]], kind: str) -> TaskDecoration:
    """One text for all pods of a task, with a symbol where JSON requires the index."""
    config = {"cluster": cluster, "task": {"type": kind, "index": _INDEX}}
    text = msgspec.json.encode(config).decode()
    variable = EnvVar(name=VARIABLE, text_with_index=text)
    return TaskDecoration(env=[variable], env_in_init_containers=False)
