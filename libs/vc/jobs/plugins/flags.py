"""Plugin arguments in Go's flag syntax: `--x=y`, `-x=y`, `--x y`, and `--x` alone for switches.

The arguments of a job cannot be changed after its creation. So an unknown argument is ignored and
reported (`Parsed.ignored`): admission warns about it, and the job gets an Event. An invalid value
is a problem, a sentence that names the argument, and the job waits. In `upstream` mode
(`Compat.UPSTREAM`) it is ignored too, and the default is used.

Plugins call `parse` with their flags. Admission knows of a third-party plugin only the names of its
flags and calls `written_flags`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from vc.messages.job_plugins import Flag
from vc.messages.plugins import PluginArgument
from vc.model.compat import Compat
from vc.model.values.bounded import read_count

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_SHOWN_CHARACTERS_MAX: Final = 80
_IGNORED_MAX: Final = 8
_FLAG: Final = re.compile(r"--?[A-Za-z][\w.-]{0,63}")


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """The value of every flag, or the problem."""

    values: Mapping[str, str] = {}
    given: frozenset[str] = frozenset()
    problem: str = ""
    ignored: tuple[str, ...] = ()
    """Arguments without effect and why, for the author of the job. A
    core passes them on in its answer."""

    def text(self, name: str) -> str:
        return self.values[name]

    def number(self, name: str) -> int:
        return int(self.values[name])

    def switch(self, name: str) -> bool:
        return self.values[name] in _TRUE


def parse(
    arguments: Sequence[str], flags: Sequence[Flag], *, compat: Compat = Compat.LENIENT
) -> Parsed:
    """Parse arguments. The first invalid value is the problem."""
    known = {flag.name: flag for flag in flags}
    # A switch without a default is off.
    values = {flag.name: flag.default or ("false" if flag.switch else "") for flag in flags}
    given: set[str] = set()
    ignored: list[str] = []
    left = list(arguments)
    while left:
        argument = left.pop(0)
        name, equals, value = _split(argument)
        flag = known.get(name)
        # Arguments cannot be changed after creation, so an unknown one must not block the job.
        if flag is None:
            ignored.append(_unknown(argument, known))
            continue
        wrong = ""
        if not equals and flag.switch:
            value = "true"
        elif not equals and not left:
            wrong = f"argument --{name} needs a value: write --{name}=VALUE"
        elif not equals:
            value = left.pop(0)
        wrong = wrong or _wrong(flag, value)
        # Volcano ignores invalid values too, and a job may rely on it.
        if wrong and compat is not Compat.UPSTREAM:
            return Parsed(problem=wrong, ignored=_listed(ignored))
        if wrong:
            ignored.append(f"{wrong}; ignored, it is {values[name] or 'empty'}")
            continue
        values[name] = value
        given.add(name)
    return Parsed(values=values, given=frozenset(given), ignored=_listed(ignored))


def written_flags(arguments: Sequence[str]) -> dict[str, str]:
    """Flags and values as written, whether a plugin knows them or not.

    A flag without a value is `true`, as for switches. The last one of a name wins.
    """
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


def _listed(ignored: Sequence[str]) -> tuple[str, ...]:
    """Each message once, bounded."""
    return tuple(dict.fromkeys(ignored))[:_IGNORED_MAX]


def _split(argument: str) -> tuple[str, str, str]:
    """Name, equals sign if any, and value. The name is empty if the argument is no flag."""
    for dashes in ("--", "-"):
        if argument.startswith(dashes):
            return argument[len(dashes) :].partition("=")
    return "", "", ""


def _unknown(argument: str, known: Mapping[str, Flag]) -> str:
    """Message about an unknown argument. A text that is no flag is not quoted,
    because it may be a secret value."""
    flag = argument.partition("=")[0]
    shown = repr(flag) if _FLAG.fullmatch(flag) else "that is no flag"
    names = ", ".join(f"--{name}" for name in sorted(known)) or "none"
    return f"argument {shown} is not known and ignored; this plugin takes {names}"


def _wrong(flag: Flag, value: str) -> str:
    shown = value[:_SHOWN_CHARACTERS_MAX]
    if flag.switch and value not in _TRUE | _FALSE:
        return f"argument --{flag.name}={shown}: write true or false"
    if not flag.number:
        return ""
    # The number is checked as text first, because int() accepts other forms as well.
    if read_count(value) is None or not flag.least <= int(value) <= flag.most:
        return f"argument --{flag.name}={shown}: write a number from {flag.least} to {flag.most}"
    return ""


def described(flags: Sequence[Flag]) -> list[PluginArgument]:
    """Arguments for the announcement of the plugin."""
    return [
        PluginArgument(
            name=flag.name,
            default=flag.default or ("false" if flag.switch else ""),
            meaning=flag.meaning,
        )
        for flag in flags
    ]
