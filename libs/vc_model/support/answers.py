"""What the table of support consists of: entries, and the answer to each value of a field.

Every field, label, annotation and configuration key that a user can write has exactly one answer for each
value: an effect, a condition (the object waits, and a condition names the field), a refusal, or a warning.
"""

import enum
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from vc_model.struct import Json

UNSUPPORTED: Final = "not supported by this release"
"""Every answer that is not an effect says so in these words, unless it says what happens instead."""


class Answer(enum.Enum):
    """What happens to a value that a user wrote."""

    EFFECT = "effect"
    CONDITION = "condition"
    """The object waits, and a condition says for what; admission warns."""
    REFUSED = "refused"
    WARNING = "warning"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A value and where it stands."""

    value: Json
    parent: Json = None
    """The object that has the field."""
    root: Json = None


Match: TypeAlias = Callable[[Place], bool]


def always(place: Place) -> bool:
    """Every value."""
    del place
    return True


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to the values that `match` accepts."""

    answer: Answer
    text: str
    """What the value does; of other answers than an effect: what is not supported, and the remedy."""
    when: str = ""
    """The values in words; empty for all that no case before it accepts."""
    match: Match = always
    sample: Json = None
    """A value that this case accepts: tests apply it to the real logic. None where any value does."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One field, key or argument."""

    scope: str
    """A kind, `Pod`, `Label or annotation`, or a part of the scheduler's configuration."""
    path: str
    cases: tuple[Case, ...]
    """In order: the first that accepts a value is its answer. The last accepts every value."""
    below: bool = False
    """The answer holds for every field below the path."""
    on: tuple[str, ...] = ()
    """Of a label or annotation: the kinds that carry it."""

    @property
    def special(self) -> bool:
        """Whether some value has another answer than an effect."""
        return any(case.answer is not Answer.EFFECT for case in self.cases)

    def case_of(self, place: Place) -> Case:
        """The answer to a value."""
        return next(case for case in self.cases if case.match(place))


def effect(text: str, *, when: str = "", match: Match = always) -> Case:
    """The value does this."""
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
