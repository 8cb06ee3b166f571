"""Uids and generated names. A seeded source makes them repeatable."""

import random
import uuid
from collections.abc import Callable
from typing import Final

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' own alphabet: without vowels and look-alikes, so that suffixes form no words."""
_SUFFIX_LENGTH: Final = 5
_GENERATED_LENGTH_MAX: Final = 63

UidSource = Callable[[], str]


def fresh_uids() -> UidSource:
    """A source of random uids."""
    return lambda: str(uuid.uuid4())


def seeded_uids(seed: int) -> UidSource:
    """A source that returns the same uids in the same order for the same seed.

    With it two runs can be compared byte by byte.
    """
    source = random.Random(seed)
    return lambda: str(uuid.UUID(int=source.getrandbits(128), version=4))


def generated_name(prefix: str, uid: str) -> str:
    """Return `prefix` with a suffix of five characters that is derived from the uid."""
    number = uuid.UUID(uid).int >> 64
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[digit]
    # The prefix is shortened, not the suffix: a name must stay a valid DNS label.
    return prefix[: _GENERATED_LENGTH_MAX - _SUFFIX_LENGTH] + suffix
