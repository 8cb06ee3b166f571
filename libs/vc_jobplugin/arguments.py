"""Plugin arguments in Go's flag syntax: `--x=y`, `-x=y`, `--x y`, and `--x` alone for switches.

What is wrong is a value, a sentence that names the argument: it ends up on the job for its author
to read. Upstream logs it and goes on with defaults, which nobody notices.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from vc_messages.plugins import PluginArgument

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_SHOWN_CHARACTERS_MAX: Final = 80


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

    def text(self, name: str) -> str:
        return self.values[name]

    def number(self, name: str) -> int:
        return int(self.values[name])

    def switch(self, name: str) -> bool:
        return self.values[name] in _TRUE


def parse(arguments: Sequence[str], flags: Sequence[Flag]) -> Parsed:
    """Read arguments; the first thing that is wrong is the problem."""
    known = {flag.name: flag for flag in flags}
    values = {flag.name: flag.default or ("false" if flag.switch else "") for flag in flags}
    given: set[str] = set()
    left = list(arguments)
    while left:
        argument = left.pop(0)
        name, equals, value = _split(argument)
        flag = known.get(name)
        if flag is None:
            return Parsed(problem=_unknown(argument, known))
        if not equals and flag.switch:
            value = "true"
        elif not equals:
            if not left:
                return Parsed(problem=f"argument --{name} needs a value: write --{name}=VALUE")
            value = left.pop(0)
        wrong = _wrong(flag, value)
        if wrong:
            return Parsed(problem=wrong)
        values[name] = value
        given.add(name)
    return Parsed(values=values, given=frozenset(given))


def _split(argument: str) -> tuple[str, str, str]:
    """Name, equals sign if any, value; an empty name for what is no flag at all."""
    for dashes in ("--", "-"):
        if argument.startswith(dashes):
            return argument[len(dashes) :].partition("=")
    return "", "", ""


def _unknown(argument: str, known: Mapping[str, Flag]) -> str:
    shown = argument.partition("=")[0][:_SHOWN_CHARACTERS_MAX]
    names = ", ".join(f"--{name}" for name in sorted(known)) or "none"
    return f"argument {shown!r} is not known; this plugin takes {names}"


def _wrong(flag: Flag, value: str) -> str:
    shown = value[:_SHOWN_CHARACTERS_MAX]
    if flag.switch and value not in _TRUE | _FALSE:
        return f"argument --{flag.name}={shown}: write true or false"
    if not flag.number:
        return ""
    if not value.isdecimal() or not flag.least <= int(value) <= flag.most:
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
