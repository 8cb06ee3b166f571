"""The table of job plugins in this repository.

Topics, access rights and the redaction of arguments follow from it. Third-party plugins are not in it:
they announce themselves on `plugin.registry`. A test compares the flags with the plugins.
"""

from collections.abc import Mapping
from typing import Final

import msgspec


class BuiltInPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """What other services need to know of a plugin before it announces itself."""

    flags: Mapping[str, bool] = {}
    """Its flags, and whether a flag is a switch, which has no value in the next argument."""
    pure: bool = False
    """It neither reads facts nor writes objects, so it needs no access to them."""


BUILT_IN: Final[Mapping[str, BuiltInPlugin]] = {
    "env": BuiltInPlugin(pure=True),
    "svc": BuiltInPlugin(
        flags={"publish-not-ready-addresses": True, "disable-network-policy": True}
    ),
    "ssh": BuiltInPlugin(
        flags={
            "ssh-key-file-path": False,
            "ssh-key-type": False,
            "ssh-port": False,
            "ssh-secret": False,
            "ssh-private-key": False,
            "ssh-public-key": False,
        }
    ),
    "pytorch": BuiltInPlugin(
        pure=True,
        flags={
            "master": False,
            "worker": False,
            "port": False,
            "wait-master-enabled": True,
            "wait-master-timeout": False,
            "wait-master-image": False,
        },
    ),
    "mpi": BuiltInPlugin(pure=True, flags={"master": False, "worker": False, "port": False}),
    "tensorflow": BuiltInPlugin(
        pure=True,
        flags={"ps": False, "worker": False, "chief": False, "evaluator": False, "port": False},
    ),
    "ray": BuiltInPlugin(
        flags={
            "head": False,
            "headContainer": False,
            "worker": False,
            "workerContainer": False,
            "port": False,
            "dashboardPort": False,
            "clientPort": False,
        }
    ),
}
