"""The kind of a message: its text without numbers.

Reasons why a job waits have numbers that change with every session. Writers compare the kinds of
messages to decide whether a change is worth another write: `3/8 nodes lack cpu` and `2/8 nodes lack
cpu` are of one kind, `3/8 nodes lack memory` is of another.
"""

import functools
import re
from typing import Final

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:[KMGTPE]i|[numkKMGTPE])?(?![A-Za-z])|\d+")
"""A number with an optional quantity suffix, or digits inside a name."""

KINDS_REMEMBERED_MAX: Final = 4096


@functools.lru_cache(maxsize=KINDS_REMEMBERED_MAX)
def message_kind(message: str) -> str:
    """The message with each number replaced by `#`."""
    return _NUMBER.sub("#", message)


def same_kind(one: str, other: str) -> bool:
    """Whether two messages differ at most in numbers."""
    # Equal texts are the usual case and need no search for numbers.
    return one == other or message_kind(one) == message_kind(other)
