"""MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK."""

from typing import Final

import msgspec

from vc.jobplugin.answers import Decorated, Found, MakesNothing
from vc.jobplugin.arguments import Flag, Parsed, described, parse
from vc.jobplugin.hosts import hosts
from vc.jobplugin.roles import roles_of
from vc.messages.plugins import (
    EnvVar,
    JobDecoration,
    PluginAnnouncement,
    PluginRequest,
    TaskDecoration,
)
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat

PLUGIN: Final = "pytorch"
PORT_NAME: Final = "pytorchjob-port"
POLL_SECONDS: Final = 2
"""Time between two attempts of a worker that waits for its master."""

FLAGS: Final = (
    Flag(name="master", default="master", meaning="the task that is rank 0"),
    Flag(name="worker", default="worker", meaning="the task of the other ranks"),
    Flag(name="port", default="23456", number=True, least=1, most=65535, meaning="of the master"),
    Flag(name="wait-master-enabled", switch=True, meaning="workers wait until the port answers"),
    Flag(name="wait-master-timeout", default="300", number=True, least=1, meaning="in seconds"),
    Flag(name="wait-master-image", default="busybox:1.36.1", meaning="with sh and nc"),
)


class PytorchCore(MakesNothing):
    """The core of the pytorch plugin; see `vc.jobplugin.answers.Core`."""

    announcement = PluginAnnouncement(
        plugin=PLUGIN, version="1", arguments=described(FLAGS), forces=["svc"], makes_nothing=True
    )

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        """The address of the master for every task, and ranks for masters and workers."""
        job, parsed = request.job, parse(request.arguments, FLAGS, compat=self._compat)
        tasks_of, problem = roles_of(job, parsed, ("master", "worker"), needed=("master",))
        if problem:
            return Decorated(problem=problem)
        master, worker = tasks_of["master"], tasks_of.get("worker")
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
        tasks[master.name] = _with_rank(known, EnvVar(name="RANK", value="0"))
        if worker is not None:
            # Rank 0 is the master's, so workers start at 1.
            ranked = _with_rank(known, EnvVar(name="RANK", index_plus=1))
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
