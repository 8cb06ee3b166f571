"""Uids and generated names, from a source that a seed can make repeatable."""

import random
import uuid
from collections.abc import Callable
from typing import Final

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels and look-alikes, as Kubernetes' own suffixes: no words, no misreading."""
_SUFFIX_LENGTH: Final = 5
_GENERATED_LENGTH_MAX: Final = 63

UidSource = Callable[[], str]


def fresh_uids() -> UidSource:
    """Uids that no other cluster has."""
    return lambda: str(uuid.uuid4())


def seeded_uids(seed: int) -> UidSource:
    """The same uids in the same order for the same seed: runs can be compared byte by byte."""
    source = random.Random(seed)
    return lambda: str(uuid.UUID(int=source.getrandbits(128), version=4))


def generated_name(prefix: str, uid: str) -> str:
    """`prefix` and five characters that follow from the uid."""
    number = uuid.UUID(uid).int >> 64
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[digit]
    return prefix[: _GENERATED_LENGTH_MAX - _SUFFIX_LENGTH] + suffix
