"""Arguments of job plugins, in the syntax of Go's `flag`: `--x=y`, `-x=y`, `--bool`, `--x y`.

Admission needs only the flags and their values. The plugins parse their own arguments and ignore
unknown flags, which is why these are warnings here.
"""

from collections.abc import Sequence


def parse_flags(arguments: Sequence[str]) -> dict[str, str]:
    """Flags and their values. A flag without a value is `true`, as
    for booleans. The last one wins."""
    flags: dict[str, str] = {}
    waiting = ""
    for argument in arguments:
        if argument.startswith("-"):
            name, equals, value = argument.lstrip("-").partition("=")
            flags[name] = value if equals else "true"
            waiting = "" if equals else name
        # Go's flag package accepts `--x y`, so the next argument is the value.
        elif waiting:
            flags[waiting] = argument
            waiting = ""
    return flags
