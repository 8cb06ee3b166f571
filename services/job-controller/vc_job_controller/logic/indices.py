"""Sets of pod indices as short text: `0-3,5`.

Ten thousand pods of a task that are all alive are seven characters, so what we have seen of a task
fits into the job's status.
"""

from collections.abc import Iterable
from typing import Final

from vc_model.bounded import read_count

INDEX_MAX: Final = 1_000_000
"""Larger numbers are not read back: nobody runs such a task, and a typo must not eat the memory."""


def to_text(indices: Iterable[int]) -> str:
    """Runs of neighbours, in order."""
    runs: list[list[int]] = []
    for index in sorted(set(indices)):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in runs)


def from_text(text: str) -> frozenset[int]:
    """The reverse; what cannot be read is left out, because people can edit a status too."""
    indices: set[int] = set()
    for run in text.split(","):
        low, _, high = run.partition("-")
        first, last = read_count(low), read_count(high or low, most=INDEX_MAX)
        if first is not None and last is not None:
            indices.update(range(first, last + 1))
    return frozenset(indices)
