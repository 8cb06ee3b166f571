"""Query parameters, read with bounds."""

from collections.abc import Mapping
from typing import Final

LIMIT_DEFAULT: Final = 100
LIMIT_MAX: Final = 1000
TEXT_CHARACTERS_MAX: Final = 512


class QuestionError(ValueError):
    """A parameter that cannot be used; names it and what to write."""


def limit_of(query: Mapping[str, str]) -> int:
    """How many at the most."""
    text = query.get("limit", str(LIMIT_DEFAULT))
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= LIMIT_MAX):
        raise QuestionError(f"limit={text[:20]!r}: write a number from 1 to {LIMIT_MAX}")
    return int(text)


def text_of(query: Mapping[str, str], name: str) -> str:
    """A text parameter; empty when it is not given."""
    text = query.get(name, "")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise QuestionError(f"{name}: at most {TEXT_CHARACTERS_MAX} characters")
    return text


def flag_of(query: Mapping[str, str], name: str) -> bool:
    """`true` or `false`; false when it is not given."""
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise QuestionError(f"{name}={text[:20]!r}: write true or false")
    return text == "true"
