"""Sets of pod indices as text in the status of the job: `0-3,5`.

Ten thousand pods that are all alive need seven characters, so the indices
of a task fit into the status.
"""

from collections.abc import Iterable

from vc.model.values.index_runs import format_runs, read_runs, runs_of


def to_text(indices: Iterable[int]) -> str:
    """Format indices as ranges, in order."""
    return format_runs(runs_of(indices))


def from_text(text: str) -> frozenset[int]:
    """Parse indices. Invalid parts are left out, because users can edit a status too."""
    indices: set[int] = set()
    for low, high in read_runs(text):
        indices.update(range(low, high + 1))
    return frozenset(indices)
