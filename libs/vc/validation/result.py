"""Problems and warnings of an object, as values, all reported together.

A `FieldProblem` names the field, the value and the fix. Any problem refuses the object. A warning points
out a likely mistake and refuses nothing. Both are bounded: an object with a million mistakes
reports the first hundred and the number of the others.
"""

from typing import Final

import msgspec

from vc.model.api.struct import Json
from vc.model.compat import Compat

PROBLEMS_MAX: Final = 100
"""Problems kept per object. The rest is only counted."""

WARNINGS_MAX: Final = 16
"""API servers pass on about 4 KB of warnings."""

MESSAGE_CHARACTERS_MAX: Final = 16_000
WARNING_CHARACTERS_MAX: Final = 256
VALUE_CHARACTERS_MAX: Final = 80
PATH_CHARACTERS_MAX: Final = 200

_NOT_SHOWN: Final = msgspec.UNSET


class FieldProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One broken rule: where it is, what is wrong, and what to write instead."""

    path: str
    value: str
    """The value as shown to users, or empty if it is not helpful."""
    message: str
    """What is wrong and what to write instead."""
    upstream: str = ""
    """Volcano's message for the same rule, if known, because scripts search for it."""

    def __str__(self) -> str:
        shown = f": {self.value}" if self.value else ""
        return f"{self.path}{shown}: {self.message}"

    def text(self, compat: Compat) -> str:
        """The text of the problem. In `upstream` mode Volcano's message comes first."""
        if compat is Compat.UPSTREAM and self.upstream:
            return f"{self.upstream}: {self}"
        return str(self)


class ValidationResult:
    """Collects the problems and warnings of one object."""

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat
        self.problems: list[FieldProblem] = []
        self.warnings: list[str] = []
        self._problems_left_out = 0

    def refuse(
        self, path: str, message: str, *, value: Json = _NOT_SHOWN, upstream: str = ""
    ) -> None:
        """Add a problem. `upstream` is Volcano's message for it."""
        # A hostile object must not produce an answer of unbounded size.
        if len(self.problems) >= PROBLEMS_MAX:
            self._problems_left_out += 1
            return
        shown = "" if value is _NOT_SHOWN else show(value)
        cut_path = cut(path, PATH_CHARACTERS_MAX)
        self.problems.append(
            FieldProblem(path=cut_path, value=shown, message=message, upstream=upstream)
        )

    def warn(self, path: str, message: str) -> None:
        """Add a warning, unless the same one exists."""
        text = cut(f"{cut(path, PATH_CHARACTERS_MAX // 2)}: {message}", WARNING_CHARACTERS_MAX)
        # Repeated warnings would displace others from the limited list.
        if len(self.warnings) < WARNINGS_MAX and text not in self.warnings:
            self.warnings.append(text)

    @property
    def message(self) -> str:
        """All problems in one text for the user."""
        texts = [problem.text(self._compat) for problem in self.problems]
        if self._problems_left_out:
            texts.append(f"and {self._problems_left_out} more problems")
        return cut("; ".join(texts), MESSAGE_CHARACTERS_MAX)


def show(value: Json) -> str:
    """A short form of a value as JSON. Containers show only their size,
    because their content is unbounded."""
    if isinstance(value, str):
        return cut(
            msgspec.json.encode(value[: VALUE_CHARACTERS_MAX + 1]).decode(), VALUE_CHARACTERS_MAX
        )
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return cut(_number(value), VALUE_CHARACTERS_MAX)
    # Containers are not shown, because they may contain secrets.
    if isinstance(value, dict):
        return f"an object of {len(value)}" if value else "{}"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "[]"
    return type(value).__name__


def _number(value: float) -> str:
    """A number as text. Huge integers are not written out: Python refuses
    it, and users cannot read them."""
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of more than 256 bits"
    return str(value)


def cut(text: str, characters_max: int) -> str:
    """At most the given number of characters, with a mark if the text was cut."""
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"
