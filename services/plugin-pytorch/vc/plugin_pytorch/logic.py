"""MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK."""

from typing import Final

import msgspec

from vc.jobplugin.answers import Decorated, Found, MakesNothing
from vc.jobplugin.named_tasks import named_tasks
from vc.jobs.hosts import hosts, same_task
from vc.jobs.plugins.built_in import announcement_of
from vc.jobs.plugins.flags import Parsed, parse
from vc.messages.job_plugins import PYTORCH
from vc.messages.plugins import (
    EnvVar,
    JobDecoration,
    PluginRequest,
    TaskDecoration,
)
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat

PORT_NAME: Final = "pytorchjob-port"
POLL_SECONDS: Final = 2
"""Time between two attempts of a worker that waits for its master."""


class PytorchCore(MakesNothing):
    """The core of the pytorch plugin; see `vc.jobplugin.answers.Core`."""

    announcement = announcement_of(PYTORCH)

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        """The address of the master for every task, and ranks for masters and workers."""
        job, parsed = request.job, parse(request.arguments, PYTORCH.flags, compat=self._compat)
        tasks_of, problem = named_tasks(job, parsed, ("master", "worker"), needed=("master",))
        if problem:
            return Decorated(problem=problem)
        master, worker = tasks_of["master"], tasks_of.get("worker")
        # A master that has the default name of the workers is a job without workers. One task for
        # both would be counted twice, and no pod would have rank 0.
        if worker is master:
            if "worker" in parsed.given:
                return Decorated(problem=same_task(worker.name, argument="worker", other="master"))
            worker = None
        address = next(iter(hosts(job, master)), "")
        # WORLD_SIZE counts all processes, so masters and workers are added.
        size = master.replicas + (worker.replicas if worker else 0)
        known = TaskDecoration(
            env=[
                EnvVar(name="MASTER_ADDR", value=address),
                EnvVar(name="MASTER_PORT", value=parsed.text("port")),
                EnvVar(name="WORLD_SIZE", value=str(size)),
            ],
            env_in_init_containers=False,
            ports=[{"name": PORT_NAME, "containerPort": parsed.number("port"), "protocol": "TCP"}],
        )
        # Other tasks get the address too, but no rank.
        tasks = {task.name: known for task in job.spec.tasks}
        # Ranks are unique: masters come first, so the pod at MASTER_ADDR is rank 0.
        tasks[master.name] = _with_rank(known, EnvVar(name="RANK", index_plus=0))
        if worker is not None:
            ranked = _with_rank(known, EnvVar(name="RANK", index_plus=master.replicas))
            waits = [_waiting(parsed, address)] if parsed.switch("wait-master-enabled") else []
            tasks[worker.name] = msgspec.structs.replace(ranked, init_containers=waits)
        return Decorated(decoration=JobDecoration(tasks=tasks), warnings=parsed.ignored)


def _with_rank(decoration: TaskDecoration, rank: EnvVar) -> TaskDecoration:
    return msgspec.structs.replace(decoration, env=[*decoration.env, rank])


def _waiting(parsed: Parsed, address: str) -> JsonObject:
    """An init container that polls the port of the master until it
    answers or the time-out is over."""
    port, seconds = parsed.number("port"), parsed.number("wait-master-timeout")
    # The script needs only `sh` and `nc`, which small images have.
    script = (
        f"left={seconds}; until nc -z -w {POLL_SECONDS} {address} {port}; do "
        f'if [ "$left" -le 0 ]; then echo "no master at {address}:{port} '
        f'after {seconds} s" >&2; exit 1; fi; '
        f"left=$((left-{POLL_SECONDS})); sleep {POLL_SECONDS}; done"
    )
    return {
        "name": "wait-for-master",
        "image": parsed.text("wait-master-image"),
        "command": ["sh", "-c", script],
    }
