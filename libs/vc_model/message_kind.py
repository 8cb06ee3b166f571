"""What a message for people says, apart from its numbers.

Reasons why a job waits carry numbers that change with every session. Writers compare the kind of a
message to decide whether it is worth another write: `3/8 nodes lack cpu` and `2/8 nodes lack cpu` are of
one kind, `3/8 nodes lack memory` is another.
"""

import functools
import re
from typing import Final

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:[KMGTPE]i|[numkKMGTPE])?(?![A-Za-z])|\d+")
"""A number with the suffix of a quantity, if it has one; or digits inside a name."""

KINDS_REMEMBERED_MAX: Final = 4096


@functools.lru_cache(maxsize=KINDS_REMEMBERED_MAX)
def message_kind(message: str) -> str:
    """The message with each number as `#`."""
    return _NUMBER.sub("#", message)


def same_kind(one: str, other: str) -> bool:
    """Whether two messages differ in numbers at most."""
    return one == other or message_kind(one) == message_kind(other)
