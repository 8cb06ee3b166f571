"""Plugin arguments without what must not travel on the bus.

A user may put an ssh private key into a plugin's arguments. It is in the job at the API server, and
there it stays: messages carry a mark instead, and the one plugin that may know it reads the job
itself. Values of arguments that a plugin of ours does not take decide nothing, and stay there, too.
"""

from collections.abc import Mapping, Sequence
from typing import Final

REDACTED: Final = "<redacted>"
"""In place of a value that the plugin reads from the job."""
OMITTED: Final = "<omitted>"
"""In place of one that nobody reads."""

_SECRET_FLAGS: Final = ("ssh-private-key",)

FLAGS: Final[Mapping[str, Mapping[str, bool]]] = {
    "env": {},
    "svc": {"publish-not-ready-addresses": True, "disable-network-policy": True},
    "ssh": {
        "ssh-key-file-path": False,
        "ssh-key-type": False,
        "ssh-port": False,
        "ssh-secret": False,
        "ssh-private-key": False,
        "ssh-public-key": False,
    },
    "pytorch": {
        "master": False,
        "worker": False,
        "port": False,
        "wait-master-enabled": True,
        "wait-master-timeout": False,
        "wait-master-image": False,
    },
    "mpi": {"master": False, "worker": False, "port": False},
    "tensorflow": {"ps": False, "worker": False, "chief": False, "evaluator": False, "port": False},
    "ray": {
        "head": False,
        "headContainer": False,
        "worker": False,
        "workerContainer": False,
        "port": False,
        "dashboardPort": False,
        "clientPort": False,
    },
}
"""Plugins of this repository → what they take → whether it is a switch; a test compares this with them."""


def redact(arguments: Sequence[str], *, plugin: str = "") -> list[str]:
    """The arguments without values of secret flags, in both ways to write them.

    Of a plugin of ours, also without values of flags that it does not know; others' are not known here.
    """
    known = FLAGS.get(plugin)
    shown: list[str] = []
    follows = ""
    """What becomes of an argument that is the value of the one before; empty when it is none."""
    for argument in arguments:
        bare = argument.lstrip("-")
        name, equals, _ = bare.partition("=")
        dashes = argument[: len(argument) - len(bare)]
        if follows:
            shown.append(REDACTED if follows == REDACTED else argument)
            follows = ""
        elif dashes and name in _SECRET_FLAGS:
            shown.append(f"{dashes}{name}={REDACTED}" if equals else argument)
            follows = "" if equals else REDACTED
        elif known is None or (dashes and name in known):
            shown.append(argument)
            follows = "value" if known and not equals and not known[name] else ""
        elif dashes:
            shown.append(f"{dashes}{name}={OMITTED}" if equals else argument)
        else:
            shown.append(OMITTED)
    return shown


def is_redacted(arguments: Sequence[str]) -> bool:
    """Whether something was taken out that the plugin needs."""
    return any(REDACTED in argument for argument in arguments)
