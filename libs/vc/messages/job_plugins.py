"""The job plugins of this repository: name, arguments, and which other plugins each one forces.

This table is the only place outside its own folder (and the packaging) that a new plugin is added
to. Topics, access rights, redaction, admission and the plugin itself read it. So all of them know a
plugin whose process is not running: a job waits for it instead of being refused. Third-party
plugins are not listed here; they announce themselves on `plugin.registry`.
"""

from typing import Final

import msgspec

_PORT_MAX: Final = 65535


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One argument of a plugin."""

    name: str
    default: str = ""
    switch: bool = False
    """A boolean argument, which may have no value."""
    number: bool = False
    least: int = 0
    most: int = 2**31 - 1
    meaning: str = ""


class JobPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """What other services know of a plugin without an announcement."""

    name: str
    flags: tuple[Flag, ...] = ()
    forces: tuple[str, ...] = ()
    """Plugins that are enabled together with this one."""
    makes_nothing: bool = False
    """The plugin only decorates pods and writes nothing to the cluster."""


def _port(name: str, default: str, meaning: str = "") -> Flag:
    return Flag(name=name, default=default, number=True, least=1, most=_PORT_MAX, meaning=meaning)


ENV: Final = JobPlugin(name="env", makes_nothing=True)

SVC: Final = JobPlugin(
    name="svc",
    flags=(
        Flag(
            name="publish-not-ready-addresses",
            switch=True,
            meaning="resolve pods before they are ready",
        ),
        Flag(
            name="disable-network-policy",
            switch=True,
            meaning="allow traffic from pods of other jobs",
        ),
    ),
)

SSH: Final = JobPlugin(
    name="ssh",
    flags=(
        Flag(name="ssh-key-file-path", default="/root/.ssh", meaning="where keys are mounted"),
        Flag(name="ssh-key-type", default="ed25519", meaning="ed25519 or rsa"),
        _port("ssh-port", "22", "of sshd"),
        Flag(name="ssh-secret", meaning="an existing Secret instead of a new one"),
        Flag(name="ssh-private-key", meaning="your own key; a Secret is the better place"),
        Flag(name="ssh-public-key", meaning="and its public half"),
    ),
)

PYTORCH: Final = JobPlugin(
    name="pytorch",
    flags=(
        Flag(name="master", default="master", meaning="the task that is rank 0"),
        Flag(name="worker", default="worker", meaning="the task of the other ranks"),
        _port("port", "23456", "of the master"),
        Flag(
            name="wait-master-enabled", switch=True, meaning="workers wait until the port answers"
        ),
        Flag(name="wait-master-timeout", default="300", number=True, least=1, meaning="in seconds"),
        Flag(name="wait-master-image", default="busybox:1.36.1", meaning="with sh and nc"),
    ),
    forces=("svc",),
    makes_nothing=True,
)

MPI: Final = JobPlugin(
    name="mpi",
    flags=(
        Flag(name="master", default="master", meaning="the task that runs mpirun"),
        Flag(name="worker", default="worker", meaning="the task mpirun logs in to"),
        _port("port", "22", "of sshd"),
    ),
    # mpirun logs in to the workers by ssh, under the host names of svc.
    forces=("ssh", "svc"),
    makes_nothing=True,
)

TENSORFLOW: Final = JobPlugin(
    name="tensorflow",
    # The first four are the task types of TensorFlow. Each names the task of its type.
    flags=(
        Flag(name="ps", default="ps", meaning="the task that is ps"),
        Flag(name="worker", default="worker", meaning="the task that is worker"),
        Flag(name="chief", default="chief", meaning="the task that is chief"),
        Flag(name="evaluator", default="evaluator", meaning="the task that is evaluator"),
        _port("port", "2222", "of every pod"),
    ),
    forces=("svc",),
    makes_nothing=True,
)

RAY: Final = JobPlugin(
    name="ray",
    flags=(
        Flag(name="head", default="head", meaning="the task of the head"),
        Flag(name="headContainer", default="head", meaning="the container that runs it"),
        Flag(name="worker", default="worker", meaning="the task of the workers"),
        Flag(name="workerContainer", default="worker", meaning="the container that runs them"),
        _port("port", "6379", "of the head"),
        _port("dashboardPort", "8265"),
        _port("clientPort", "10001"),
    ),
    forces=("svc",),
)

JOB_PLUGINS: Final[dict[str, JobPlugin]] = {
    plugin.name: plugin for plugin in (ENV, SVC, SSH, PYTORCH, MPI, TENSORFLOW, RAY)
}
"""All of them by name."""
