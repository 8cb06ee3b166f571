"""Query parameters, parsed with bounds."""

from collections.abc import Mapping
from typing import Final

LIMIT_DEFAULT: Final = 100
LIMIT_MAX: Final = 1000
TEXT_CHARACTERS_MAX: Final = 512


class QueryError(ValueError):
    """An invalid parameter. The message names it and what to write."""


def limit_of(query: Mapping[str, str]) -> int:
    """The parameter `limit`, or its default; QueryError if it is out of range."""
    text = query.get("limit", str(LIMIT_DEFAULT))
    # Long digit strings would be slow to convert, and int() has its own limit.
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= LIMIT_MAX):
        raise QueryError(f"limit={text[:20]!r}: write a number from 1 to {LIMIT_MAX}")
    return int(text)


def text_of(query: Mapping[str, str], name: str) -> str:
    """A text parameter, or empty if it is absent."""
    text = query.get(name, "")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise QueryError(f"{name}: at most {TEXT_CHARACTERS_MAX} characters")
    return text


def flag_of(query: Mapping[str, str], name: str) -> bool:
    """A parameter with `true` or `false`. It is false if it is absent."""
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise QueryError(f"{name}={text[:20]!r}: write true or false")
    return text == "true"
