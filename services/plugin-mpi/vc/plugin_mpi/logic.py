"""MPI_HOST and the port of sshd."""

from typing import Final

import msgspec

from vc.jobplugin.answers import Decorated, Found, MakesNothing
from vc.jobplugin.named_tasks import named_tasks
from vc.jobs.hosts import hosts
from vc.jobs.plugins.built_in import announcement_of
from vc.jobs.plugins.flags import parse
from vc.messages.job_plugins import MPI
from vc.messages.plugins import (
    EnvVar,
    JobDecoration,
    PluginRequest,
    TaskDecoration,
)
from vc.model.compat import Compat

PORT_NAME: Final = "mpijob-port"


class MpiCore(MakesNothing):
    """The core of the mpi plugin; see `vc.jobplugin.answers.Core`."""

    announcement = announcement_of(MPI)

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        """A port for all tasks, and the list of workers for the master."""
        job, parsed = request.job, parse(request.arguments, MPI.flags, compat=self._compat)
        # The worker task may be missing, unless the user named it.
        tasks_of, problem = named_tasks(job, parsed, ("master", "worker"), needed=("master",))
        if problem:
            return Decorated(problem=problem)
        master, worker = tasks_of["master"], tasks_of.get("worker")
        # As in Volcano, the port is opened on every task and not only on the workers.
        port = {"name": PORT_NAME, "containerPort": parsed.number("port"), "protocol": "TCP"}
        listening = TaskDecoration(ports=[port], ports_in_init_containers=True)
        tasks = {task.name: listening for task in job.spec.tasks}
        # Without a worker task there is no list of hosts.
        if worker is not None:
            listed = EnvVar(name="MPI_HOST", value=",".join(hosts(job, worker)))
            tasks[master.name] = msgspec.structs.replace(tasks[master.name], env=[listed])
        return Decorated(decoration=JobDecoration(tasks=tasks), warnings=parsed.ignored)
