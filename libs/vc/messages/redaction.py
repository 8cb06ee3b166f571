"""Removes values from plugin arguments that must not be published on the bus.

A user may put an ssh private key into a plugin's arguments. It stays in the job at the API server:
messages have a marker instead, and the one plugin that needs the key reads the job itself. Values
of arguments that a plugin of ours does not know have no effect, and are removed too.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from vc.messages.job_plugins import JOB_PLUGINS

REDACTED: Final = "<redacted>"
"""Replaces a value that the plugin reads from the job."""
OMITTED: Final = "<omitted>"
"""Replaces a value that no plugin reads."""

_SECRET_FLAGS: Final = ("ssh-private-key",)

_SWITCHES: Final[Mapping[str, Mapping[str, bool]]] = {
    name: {flag.name: flag.switch for flag in plugin.flags} for name, plugin in JOB_PLUGINS.items()
}
"""The flags of each plugin in this repository, and whether a flag is a switch."""


def redact(arguments: Sequence[str], *, plugin: str = "") -> list[str]:
    """The arguments without the values of secret flags, with `=` or in the next argument.

    For our own plugins the values of unknown flags are removed too. The flags of third-party
    plugins are not known here.
    """
    known = _SWITCHES.get(plugin)
    shown: list[str] = []
    follows = ""
    """How the next argument is handled if it is the value of this flag;
    empty if it is not a value.
    """
    for argument in arguments:
        # Any number of dashes, because a secret must not pass in another spelling.
        bare = argument.lstrip("-")
        name, separator, _ = bare.partition("=")
        dashes = argument[: len(argument) - len(bare)]
        # Before all other cases: a value may begin with dashes and look like a flag.
        if follows:
            shown.append(REDACTED if follows == REDACTED else argument)
            follows = ""
        elif dashes and name in _SECRET_FLAGS:
            shown.append(f"{dashes}{name}={REDACTED}" if separator else argument)
            follows = "" if separator else REDACTED
        # Flags of third-party plugins are unknown here, so their values are kept.
        elif known is None or (dashes and name in known):
            shown.append(argument)
            # A flag that is not a switch may have its value in the next argument.
            follows = "value" if known and not separator and not known[name] else ""
        elif dashes:
            shown.append(f"{dashes}{name}={OMITTED}" if separator else argument)
        else:
            # It may be the value of an unknown flag before it, such as a password.
            shown.append(OMITTED)
    return shown


def is_redacted(arguments: Sequence[str]) -> bool:
    """Whether a value that the plugin needs was removed."""
    return any(REDACTED in argument for argument in arguments)
