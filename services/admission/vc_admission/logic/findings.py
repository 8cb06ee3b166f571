"""What is wrong with an object, as values, all at once.

A `Problem` names the field, the value and the fix; any problem refuses the object. A warning tells
of a trap and refuses nothing. Both are bounded: a hostile object with a million mistakes gets the
first hundred, and the number of the others.
"""

from typing import Final

import msgspec

from vc_model.compat import Compat
from vc_model.struct import Json

PROBLEMS_MAX: Final = 100
"""Kept of one object; the rest is counted."""

WARNINGS_MAX: Final = 16
"""API servers pass on about 4 KB of warnings."""

MESSAGE_CHARACTERS_MAX: Final = 16_000
WARNING_CHARACTERS_MAX: Final = 256
VALUE_CHARACTERS_MAX: Final = 80
PATH_CHARACTERS_MAX: Final = 200

_NOT_SHOWN: Final = msgspec.UNSET


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One broken rule."""

    path: str
    value: str
    """As shown to people; empty when the value says nothing."""
    message: str
    """What is wrong and what to write instead."""
    upstream: str = ""
    """How Volcano refuses the same, where its words are known: scripts look for them."""

    def __str__(self) -> str:
        shown = f": {self.value}" if self.value else ""
        return f"{self.path}{shown}: {self.message}"

    def told(self, compat: Compat) -> str:
        """With Volcano's letter its words come first."""
        if compat is Compat.UPSTREAM and self.upstream:
            return f"{self.upstream}: {self}"
        return str(self)


class Findings:
    """Collects problems and warnings of one object."""

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self._problems_left_out = 0

    def refuse(
        self, path: str, message: str, *, value: Json = _NOT_SHOWN, upstream: str = ""
    ) -> None:
        """Note a broken rule; `upstream` are Volcano's words for it."""
        if len(self.problems) >= PROBLEMS_MAX:
            self._problems_left_out += 1
            return
        shown = "" if value is _NOT_SHOWN else show(value)
        cut_path = cut(path, PATH_CHARACTERS_MAX)
        self.problems.append(
            Problem(path=cut_path, value=shown, message=message, upstream=upstream)
        )

    def warn(self, path: str, message: str) -> None:
        """Note a trap, once."""
        text = cut(f"{cut(path, PATH_CHARACTERS_MAX // 2)}: {message}", WARNING_CHARACTERS_MAX)
        if len(self.warnings) < WARNINGS_MAX and text not in self.warnings:
            self.warnings.append(text)

    @property
    def message(self) -> str:
        """All problems in one text, for the person at the terminal."""
        texts = [problem.told(self._compat) for problem in self.problems]
        if self._problems_left_out:
            texts.append(f"and {self._problems_left_out} more problems")
        return cut("; ".join(texts), MESSAGE_CHARACTERS_MAX)


def show(value: Json) -> str:
    """A value as JSON, short. Containers show only their size: they may hold anything."""
    if isinstance(value, str):
        return cut(
            msgspec.json.encode(value[: VALUE_CHARACTERS_MAX + 1]).decode(), VALUE_CHARACTERS_MAX
        )
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return cut(_number(value), VALUE_CHARACTERS_MAX)
    if isinstance(value, dict):
        return f"an object of {len(value)}" if value else "{}"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "[]"
    return type(value).__name__


def _number(value: float) -> str:
    """Huge integers are not spelt out: Python refuses to, and nobody reads them."""
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of more than 256 bits"
    return str(value)


def cut(text: str, characters_max: int) -> str:
    """At most so many characters, with a mark where something is missing."""
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"
