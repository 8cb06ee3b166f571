"""TF_CONFIG: the members of the cluster, and the type and index of this pod."""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.jobplugin.answers import Decorated, Found, MakesNothing
from vc.jobplugin.named_tasks import named_tasks
from vc.jobs.hosts import hosts
from vc.jobs.plugins.built_in import announcement_of
from vc.jobs.plugins.flags import parse
from vc.messages.job_plugins import TENSORFLOW
from vc.messages.plugins import (
    INDEX_SYMBOL,
    EnvVar,
    JobDecoration,
    PluginRequest,
    TaskDecoration,
)
from vc.model.api.job import Job, TaskSpec
from vc.model.compat import Compat

TASK_TYPES: Final = ("ps", "worker", "chief", "evaluator")
"""Task types of TensorFlow. Each is also the name of the argument that names its task."""

VARIABLE: Final = "TF_CONFIG"

_INDEX: Final = msgspec.Raw(INDEX_SYMBOL.encode())
"""Not valid JSON yet: the number is filled in for each pod."""


class TensorflowCore(MakesNothing):
    """The core of the tensorflow plugin; see `vc.jobplugin.answers.Core`."""

    announcement = announcement_of(TENSORFLOW)

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        """Every task gets the whole cluster and its own type. A single pod has no cluster."""
        job, parsed = request.job, parse(request.arguments, TENSORFLOW.flags, compat=self._compat)
        typed, problem = named_tasks(job, parsed, TASK_TYPES, needed=())
        if problem:
            return Decorated(problem=problem)
        # TensorFlow treats a job without TF_CONFIG as a single process.
        if [task.replicas for task in job.spec.tasks] == [1]:
            return Decorated(decoration=JobDecoration(), warnings=parsed.ignored)
        cluster = _cluster(job, typed, port=parsed.number("port"))
        types = {task.name: type_ for type_, task in typed.items()}
        tasks = {
            # A task without a type is not part of the cluster, and its own name is its type.
            task.name: _decoration(cluster, types.get(task.name, task.name))
            for task in job.spec.tasks
        }
        return Decorated(decoration=JobDecoration(tasks=tasks), warnings=parsed.ignored)


def _cluster(job: Job, typed: Mapping[str, TaskSpec], *, port: int) -> dict[str, list[str]]:
    """`host:port` of the pods of each task type. Types without a pod are left out."""
    listed = {each: [f"{host}:{port}" for host in hosts(job, task)] for each, task in typed.items()}
    return {each: members for each, members in listed.items() if members}


def _decoration(cluster: Mapping[str, list[str]], kind: str) -> TaskDecoration:
    """One text for all pods of a task, with a symbol where JSON requires the index."""
    config = {"cluster": cluster, "task": {"type": kind, "index": _INDEX}}
    text = msgspec.json.encode(config).decode()
    # One variable for all pods keeps the reply small, however many replicas the task has.
    variable = EnvVar(name=VARIABLE, text_with_index=text)
    return TaskDecoration(env=[variable], env_in_init_containers=False)
