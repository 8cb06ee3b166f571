"""Plugin arguments in Go's flag syntax: `--x=y`, `-x=y`, `--x y`, and `--x` alone for switches.

A job's arguments cannot be changed once it exists, so an argument that the plugin does not know is ignored
and reported (`Parsed.ignored`): admission warns of it, and the job gets an Event. A value that cannot be
used is a problem, a sentence that names the argument, and the job waits with it; with Volcano's letter
(`Compat.UPSTREAM`) it is ignored too, and the default counts.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from vc_messages.plugins import PluginArgument
from vc_model.bounded import read_count
from vc_model.compat import Compat

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_SHOWN_CHARACTERS_MAX: Final = 80
_IGNORED_MAX: Final = 8
_FLAG: Final = re.compile(r"--?[A-Za-z][\w.-]{0,63}")


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One argument a plugin takes."""

    name: str
    default: str = ""
    switch: bool = False
    """True or false; may stand without a value."""
    number: bool = False
    least: int = 0
    most: int = 2**31 - 1
    meaning: str = ""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """Every flag's value, or what is wrong."""

    values: Mapping[str, str] = {}
    given: frozenset[str] = frozenset()
    problem: str = ""
    ignored: tuple[str, ...] = ()
    """What had no effect and why, for the author of the job; a core passes it on in its answer."""

    def text(self, name: str) -> str:
        return self.values[name]

    def number(self, name: str) -> int:
        return int(self.values[name])

    def switch(self, name: str) -> bool:
        return self.values[name] in _TRUE


def parse(
    arguments: Sequence[str], flags: Sequence[Flag], *, compat: Compat = Compat.LENIENT
) -> Parsed:
    """Read arguments; the first value that cannot be used is the problem."""
    known = {flag.name: flag for flag in flags}
    values = {flag.name: flag.default or ("false" if flag.switch else "") for flag in flags}
    given: set[str] = set()
    ignored: list[str] = []
    left = list(arguments)
    while left:
        argument = left.pop(0)
        name, equals, value = _split(argument)
        flag = known.get(name)
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
        if wrong and compat is not Compat.UPSTREAM:
            return Parsed(problem=wrong, ignored=_listed(ignored))
        if wrong:
            ignored.append(f"{wrong}; ignored, it is {values[name] or 'empty'}")
            continue
        values[name] = value
        given.add(name)
    return Parsed(values=values, given=frozenset(given), ignored=_listed(ignored))


def _listed(ignored: Sequence[str]) -> tuple[str, ...]:
    """Each once, bounded."""
    return tuple(dict.fromkeys(ignored))[:_IGNORED_MAX]


def _split(argument: str) -> tuple[str, str, str]:
    """Name, equals sign if any, value; an empty name for what is no flag at all."""
    for dashes in ("--", "-"):
        if argument.startswith(dashes):
            return argument[len(dashes) :].partition("=")
    return "", "", ""


def _unknown(argument: str, known: Mapping[str, Flag]) -> str:
    """What is no flag by its form is not shown: it may be the value of one, and a secret."""
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
    if read_count(value) is None or not flag.least <= int(value) <= flag.most:
        return f"argument --{flag.name}={shown}: write a number from {flag.least} to {flag.most}"
    return ""


def described(flags: Sequence[Flag]) -> list[PluginArgument]:
    """For the plugin's announcement."""
    return [
        PluginArgument(
            name=flag.name,
            default=flag.default or ("false" if flag.switch else ""),
            meaning=flag.meaning,
        )
        for flag in flags
    ]
