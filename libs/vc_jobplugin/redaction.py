"""Private keys do not travel on the bus.

A user may put an ssh private key into a plugin's arguments. It is in the job at the API server, and
there it stays: messages carry a mark instead, and the one plugin that may know it reads the job
itself.
"""

from collections.abc import Sequence
from typing import Final

REDACTED: Final = "<redacted>"
_SECRET_FLAGS: Final = ("ssh-private-key",)


def redact(arguments: Sequence[str]) -> list[str]:
    """The arguments with the values of secret flags replaced, in both ways to write them."""
    shown: list[str] = []
    value_is_secret = False
    for argument in arguments:
        name, equals, _ = argument.lstrip("-").partition("=")
        dashed = argument.startswith("-")
        if value_is_secret:
            shown.append(REDACTED)
            value_is_secret = False
        elif dashed and name in _SECRET_FLAGS:
            prefix = argument[: len(argument) - len(argument.lstrip("-"))]
            shown.append(f"{prefix}{name}={REDACTED}" if equals else argument)
            value_is_secret = not equals
        else:
            shown.append(argument)
    return shown


def is_redacted(arguments: Sequence[str]) -> bool:
    """Whether something was taken out."""
    return any(REDACTED in argument for argument in arguments)
