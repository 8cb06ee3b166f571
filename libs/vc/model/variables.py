"""Declarations of environment variables: name, default, meaning and parser in one place.

A service declares its variables with these constructors and reads its Config through them.
`vc-<service> --help`, `--check`, the README and the code all use the same declaration, so they
cannot disagree. An empty value counts as absent, as in compose files and charts, unless the
declaration makes it a value. Errors name the variable, the value and what to write; the value of a
secret is never part of an error.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})
PORT_MAX: Final = 65535

Value = TypeVar("Value")


@dataclass(frozen=True)
class Variable(Generic[Value]):
    """One environment variable of a program."""

    name: str
    default: Value
    _: KW_ONLY
    meaning: str
    """What it configures, for readers of `--help`."""
    parse: Callable[[str], Value]
    """Raises ValueError with the fix: what to write instead."""
    shown: str = ""
    """The default as it is written; empty if there is none."""
    secret: bool = False
    """The value is never printed."""
    is_file: bool = False
    """The value is the path of a file that must exist."""
    empty_counts: bool = False
    """The empty text is a value, not an absent one."""

    def is_given(self, environment: Mapping[str, str]) -> bool:
        """Whether the environment sets the value, rather than the default."""
        text = environment.get(self.name)
        return text is not None and (bool(text.strip()) or self.empty_counts)

    def read(self, environment: Mapping[str, str]) -> Value:
        """The effective value; ValueError names the variable, the value and the fix."""
        if not self.is_given(environment):
            return self.default
        text = environment[self.name]
        try:
            return self.parse(text.strip())
        except ValueError as error:
            # The message goes to logs, where a password must not appear.
            value = "(not shown)" if self.secret else repr(text)
            raise ValueError(f"{self.name}={value}: {error}") from None


AnyVariable: TypeAlias = Variable[Any]


def text(
    name: str,
    default: str = "",
    *,
    meaning: str,
    secret: bool = False,
    empty_counts: bool = False,
) -> Variable[str]:
    """A variable with any text."""
    return Variable(
        name,
        default,
        meaning=meaning,
        parse=str,
        shown=default,
        secret=secret,
        empty_counts=empty_counts,
    )


def file(name: str, *, meaning: str) -> Variable[str]:
    """The path of a file that must exist; none by default."""
    return Variable(name, "", meaning=meaning, parse=str, is_file=True)


def integer(name: str, default: int, *, low: int, high: int, meaning: str) -> Variable[int]:
    """An integer within bounds."""

    def parse(written: str) -> int:
        digits = written.removeprefix("-")
        # `int` would also accept underscores, blanks and digits of other scripts.
        if not digits.isascii() or not digits.isdecimal() or not low <= int(written) <= high:
            raise ValueError(f"write a number from {low} to {high}")
        return int(written)

    return Variable(name, default, meaning=meaning, parse=parse, shown=str(default))


def port(name: str, default: int, *, meaning: str) -> Variable[int]:
    """A TCP port; 0 lets the system choose a free one."""
    return integer(name, default, low=0, high=PORT_MAX, meaning=meaning)


def seconds(name: str, default: float, *, low: float, high: float, meaning: str) -> Variable[float]:
    """A time in seconds within bounds; fractions are allowed."""

    def parse(written: str) -> float:
        fix = f"write seconds from {low:g} to {high:g}"
        try:
            number = float(written)
        except ValueError:
            raise ValueError(fix) from None
        # `float` accepts `nan` and `inf`, which no comparison would stop later.
        if not math.isfinite(number) or not low <= number <= high:
            raise ValueError(fix)
        return number

    return Variable(name, default, meaning=meaning, parse=parse, shown=f"{default:g}")


def switch(name: str, *, default: bool, meaning: str) -> Variable[bool]:
    """A variable that is true or false."""

    def parse(written: str) -> bool:
        if written.lower() not in _TRUE | _FALSE:
            raise ValueError("write true or false")
        return written.lower() in _TRUE

    return Variable(name, default, meaning=meaning, parse=parse, shown=str(default).lower())


def choice(
    name: str, default: str, *, known: tuple[str, ...], meaning: str, any_case: bool = False
) -> Variable[str]:
    """One of a few words; an empty default means "not chosen"."""

    def parse(written: str) -> str:
        for word in known:
            if written == word or (any_case and written.lower() == word.lower()):
                return word
        raise ValueError(f"write {', '.join(known[:-1])} or {known[-1]}")

    return Variable(name, default, meaning=meaning, parse=parse, shown=default)


def names(name: str, default: tuple[str, ...], *, meaning: str) -> Variable[tuple[str, ...]]:
    """Names separated by commas; duplicates are removed."""

    def parse(written: str) -> tuple[str, ...]:
        given = (part.strip() for part in written.split(","))
        found = tuple(dict.fromkeys(part for part in given if part))
        # A value of only commas and blanks names nothing. Without any name the service would select
        # no object, and that without an error.
        return found or default

    return Variable(name, default, meaning=meaning, parse=parse, shown=",".join(default))
