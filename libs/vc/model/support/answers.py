"""The types of the support table: entries, and the answer for each value of a field.

Every field, label, annotation and configuration key that a user can write has exactly one answer
for each value: an effect, a condition (the object waits, and a condition names the field), a
refusal, or a warning.
"""

import enum
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from vc.model.api.struct import Json

UNSUPPORTED: Final = "not supported by this release"
"""Text that every answer other than an effect contains, unless it says what happens instead."""


class Answer(enum.Enum):
    """How a value that a user wrote is handled."""

    EFFECT = "effect"
    CONDITION = "condition"
    """The object waits, and a condition has the reason; admission warns."""
    REFUSED = "refused"
    WARNING = "warning"


class FieldValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value and its position in the object."""

    value: Json
    parent: Json = None
    """The object that has the field."""
    root: Json = None


Match: TypeAlias = Callable[[FieldValue], bool]


def always(place: FieldValue) -> bool:
    """The match of a case that answers for all values that no earlier case matched."""
    del place
    return True


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for the values that `match` accepts."""

    answer: Answer
    text: str
    """What the value does. For answers other than an effect:
    what is not supported, and the remedy.
    """
    when: str = ""
    """The values in words; empty for all values that no earlier case accepts."""
    match: Match = always
    sample: Json = None
    """A value that this case accepts, which tests apply to the real logic.
    None if any value does.
    """


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One field, key or argument."""

    scope: str
    """A kind, `Pod`, `Label or annotation`, or a part of the scheduler's configuration."""
    path: str
    cases: tuple[Case, ...]
    """In order: the first case that accepts a value is its answer. The last accepts every value."""
    below: bool = False
    """The answer also holds for every field below the path."""
    on: tuple[str, ...] = ()
    """For a label or annotation: the kinds that may have it."""

    @property
    def special(self) -> bool:
        """Whether some value has an answer other than an effect."""
        return any(case.answer is not Answer.EFFECT for case in self.cases)

    def case_of(self, place: FieldValue) -> Case:
        """The answer for a value."""
        return next(case for case in self.cases if case.match(place))


def effect(text: str, *, when: str = "", match: Match = always) -> Case:
    """The value has this effect."""
    return Case(answer=Answer.EFFECT, text=text, when=when, match=match)


def waits(text: str, *, when: str = "", match: Match = always, sample: Json = None) -> Case:
    """The object waits with a condition."""
    return Case(answer=Answer.CONDITION, text=text, when=when, match=match, sample=sample)


def refused(text: str, *, when: str = "", match: Match = always, sample: Json = None) -> Case:
    """Admission refuses the object."""
    return Case(answer=Answer.REFUSED, text=text, when=when, match=match, sample=sample)


def warned(text: str, *, when: str = "", match: Match = always, sample: Json = None) -> Case:
    """Admission accepts the object and returns a warning."""
    return Case(answer=Answer.WARNING, text=text, when=when, match=match, sample=sample)
