"""Finds the known name that a misspelt name was probably meant to be."""

import difflib
from collections.abc import Iterable
from typing import Final

_ALIKE_LEAST: Final = 0.7


def nearest(name: str, known: Iterable[str]) -> str:
    """The most similar known name; empty if none is similar enough."""
    # Case is ignored, so that wrong capitals still find the name.
    by_lower = {word.lower(): word for word in sorted(known)}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=_ALIKE_LEAST)
    return by_lower[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to a message; empty if no known name is similar."""
    found = nearest(name, known)
    return f"; did you mean {found}?" if found else ""
