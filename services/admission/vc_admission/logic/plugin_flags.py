"""Arguments of job plugins, in the syntax of Go's `flag`: `--x=y`, `-x=y`, `--bool`, `--x y`.

Only what admission needs: which flags are given and with what value. The plugins read their own
arguments; a flag they do not know is ignored there, which is why it is a warning here.
"""

from collections.abc import Sequence


def parse_flags(arguments: Sequence[str]) -> dict[str, str]:
    """Flag to value; a flag without one is `true`, as for booleans. The last one wins."""
    flags: dict[str, str] = {}
    waiting = ""
    for argument in arguments:
        if argument.startswith("-"):
            name, equals, value = argument.lstrip("-").partition("=")
            flags[name] = value if equals else "true"
            waiting = "" if equals else name
        elif waiting:
            flags[waiting] = argument
            waiting = ""
    return flags
