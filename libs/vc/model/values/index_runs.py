"""Sets of pod indices as sorted runs and as short text: `0-3,5`.

Ten thousand consecutive indices are one run. A run is never expanded, so parsing foreign text costs
time and memory proportional to its length.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable
from typing import Final

from vc.model.values.bounded import read_count

INDEX_MAX: Final = 1_000_000
"""Larger indices are not parsed: no task has them, and a typo must not exhaust memory."""

Runs = tuple[tuple[int, int], ...]
"""First and last index of each run; sorted, and no two runs overlap or touch."""


def runs_of(indices: Iterable[int]) -> Runs:
    """The runs of a set of indices."""
    return _joined((index, index) for index in sorted(indices))


def format_runs(runs: Runs) -> str:
    """The runs as text; the inverse of `read_runs`."""
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in runs)


def read_runs(text: str) -> Runs:
    """Runs from text; invalid parts are left out, because users can edit a status too."""
    found: list[tuple[int, int]] = []
    for run in text.split(","):
        low, _, high = run.partition("-")
        # The bound of the last index also bounds the first, which is never larger.
        first, last = read_count(low), read_count(high or low, most=INDEX_MAX)
        if first is not None and last is not None and first <= last:
            found.append((first, last))
    return _joined(sorted(found))


def count_without(runs: Runs, indices: Collection[int]) -> int:
    """The number of indices in the runs that are not in `indices`."""
    total = sum(high - low + 1 for low, high in runs)
    # Only the given indices are searched; the runs are never expanded.
    return total - sum(_has(runs, index) for index in set(indices))


def _has(runs: Runs, index: int) -> bool:
    at = bisect_right(runs, index, key=_first)
    return at > 0 and index <= runs[at - 1][1]


def _first(run: tuple[int, int]) -> int:
    return run[0]


def _joined(ordered: Iterable[tuple[int, int]]) -> Runs:
    runs: list[tuple[int, int]] = []
    for low, high in ordered:
        # Adjacent runs are joined too, which keeps the text short and counts exact.
        if runs and low <= runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], max(high, runs[-1][1]))
        else:
            runs.append((low, high))
    return tuple(runs)
