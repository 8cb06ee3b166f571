"""nodeorder: spread by default, balance what is used (behaviour.md 5.7).

Scores are fixed-point: 100 points are `POINTS`. Each quotient is one IEEE division per element,
rounded down to an integer before anything is added, so the sums are exact and the same everywhere.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from vc_scheduler.logic.framework import Candidates
from vc_scheduler.logic.plugins.arguments import weight
from vc_scheduler.logic.table import Ints

POINTS: Final = 1_000_000
"""A full score of 100, in fixed point."""


class NodeOrder:
    """Least requested, most requested, balanced."""

    name: ClassVar[str] = "nodeorder"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._least = weight(arguments, "leastrequested.weight", 1)
        self._most = weight(arguments, "mostrequested.weight", 0)
        self._balanced = weight(arguments, "balancedresource.weight", 1)

    def score(self, candidates: Candidates) -> Ints:
        cpu = used_points(candidates, candidates.resources["cpu"])
        memory = used_points(candidates, candidates.resources["memory"])
        mean = (cpu + memory) // 2
        apart = np.abs(cpu - memory) // 2
        score: Ints = (
            self._least * (POINTS - mean) + self._most * mean + self._balanced * (POINTS - apart)
        )
        return score


def used_points(candidates: Candidates, column: int) -> Ints:
    """How much of a resource is used, 0 to POINTS; full where the node has none of it."""
    allocatable = np.maximum(candidates.allocatable[:, column, None], 1)
    quotient: NDArray[np.float64] = candidates.used_after(column) / allocatable * POINTS
    return np.minimum(quotient, POINTS).astype(np.int64)
