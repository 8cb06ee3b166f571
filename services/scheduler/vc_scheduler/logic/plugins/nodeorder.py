"""nodeorder: spread by default, balance what is used, go where pods would rather be (behaviour.md 5.7).

Scores are fixed-point: 100 points are `POINTS`. Each quotient is one IEEE division per element,
rounded down to an integer before anything is added, so the sums are exact and the same everywhere.
What a shape prefers (node affinity, taints that only advise) is one array per shape; what depends on
other pods is in `peer_scores`. Both are measured against the nodes the shape may go to. Image locality is
one array per set of images, added where a node is chosen, so that images make no shapes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from vc_scheduler.logic.framework import Candidates
from vc_scheduler.logic.images import ImageRow, locality
from vc_scheduler.logic.node_masks import any_term, intolerable
from vc_scheduler.logic.plugins.arguments import weight
from vc_scheduler.logic.plugins.peer_scores import POINTS, nearness, spreading
from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.table import Ints, Mask, StaticTable

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

_GPU: Final = "nvidia.com/gpu"


class NodeOrder:
    """Least requested, most requested, balanced; preferences of the pod."""

    name: ClassVar[str] = "nodeorder"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._least = weight(arguments, "leastrequested.weight", 1)
        self._most = weight(arguments, "mostrequested.weight", 0)
        self._balanced = weight(arguments, "balancedresource.weight", 1)
        self._affinity = weight(arguments, "nodeaffinity.weight", 2)
        self._taints = weight(arguments, "tainttoleration.weight", 3)
        self._peers = weight(arguments, "podaffinity.weight", 2)
        self._images = weight(arguments, "imagelocality.weight", 1)
        self._spread = weight(arguments, "podtopologyspread.weight", 2)
        self._preferred: dict[bytes, Ints] = {}
        """By shape, over all nodes; a plugin lives as long as its session."""

    def score(self, candidates: Candidates) -> Ints:
        cpu = used_points(candidates, candidates.resources["cpu"])
        memory = used_points(candidates, candidates.resources["memory"])
        mean = (cpu + memory) // 2
        score: Ints = (
            self._least * (POINTS - mean)
            + self._most * mean
            + self._balanced * (POINTS - _apart(candidates, cpu, memory))
        )
        if candidates.shape.preferred or candidates.nodes.advised:
            score += self._preferences(candidates)[candidates.rows, None]
        return score

    def peer_score(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        peers, peering = session.peers, pod.shape.peering
        found: list[Ints] = []
        if self._peers and (peering.wishes or peers.pulling(pod)):
            found.append(self._peers * nearness(peers, pod, mask))
        if peering.soft_spread and self._spread:
            found.append(self._spread * spreading(peers, pod, mask))
        return np.sum(found, axis=0, dtype=np.int64) if found else None

    def image_score(
        self, images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable
    ) -> Ints | None:
        found = locality(images, there, nodes, points=POINTS) if self._images else None
        return None if found is None else self._images * found

    def _preferences(self, candidates: Candidates) -> Ints:
        shape, nodes, allowed = candidates.shape, candidates.nodes, candidates.allowed
        known = self._preferred.get(shape.key)
        if known is None:
            wanted = np.zeros(len(nodes.names), dtype=np.int64)
            for share, term in shape.preferred:
                wanted += share * any_term((term,), nodes)
            known = self._affinity * part_of_best(wanted, allowed)
            if nodes.advised:
                against = intolerable(shape.constraints.tolerations, nodes)
                known = known + self._taints * (POINTS - part_of_best(against, allowed))
            self._preferred[shape.key] = known
        return known


def part_of_best(amounts: Ints, allowed: Mask) -> Ints:
    """0 to POINTS: each amount as a part of the largest among the nodes that count."""
    most = int(amounts[allowed].max(initial=0))
    parts: Ints = np.minimum(amounts * POINTS // max(most, 1), POINTS)
    return parts


def _apart(candidates: Candidates, cpu: Ints, memory: Ints) -> Ints:
    """How unevenly resources would be used: their standard deviation, with GPUs if it wants any."""
    column = candidates.resources.get(_GPU)
    if column is None or not candidates.request[column]:
        apart: Ints = np.abs(cpu - memory) // 2
        return apart
    gpu = used_points(candidates, column)
    mean = (cpu + memory + gpu) // 3
    variance = ((cpu - mean) ** 2 + (memory - mean) ** 2 + (gpu - mean) ** 2) // 3
    deviation: Ints = np.sqrt(variance).astype(np.int64)
    return deviation


def used_points(candidates: Candidates, column: int) -> Ints:
    """How much of a resource is used, 0 to POINTS; full where the node has none of it."""
    allocatable = np.maximum(candidates.allocatable[:, column, None], 1)
    quotient: NDArray[np.float64] = candidates.used_after(column) / allocatable * POINTS
    return np.minimum(quotient, POINTS).astype(np.int64)
