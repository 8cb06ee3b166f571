"""The known name that a wrong one was probably meant to be."""

import difflib
from collections.abc import Iterable
from typing import Final

_ALIKE_LEAST: Final = 0.7


def nearest(name: str, known: Iterable[str]) -> str:
    """The most similar of the known names; empty when none is similar enough."""
    by_lower = {word.lower(): word for word in sorted(known)}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=_ALIKE_LEAST)
    return by_lower[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to a sentence; empty when no known name is similar."""
    found = nearest(name, known)
    return f"; did you mean {found}?" if found else ""
