"""nodeorder: spread pods, balance resources, and prefer what pods prefer (docs/behaviour.md 5.7).

Scores are fixed-point integers: `POINTS` stands for 100 points. Each quotient is one IEEE division
per element, rounded down before sums are formed. The sums are therefore exact, and equal on every
platform.

Node affinity preferences and PreferNoSchedule taints are one array per pod shape. Scores that
depend on other pods are in `pod_affinity`. Both are relative to the nodes that the shape may
use. Image locality is one array per set of images and is added when a node is chosen, so that
images do not multiply the number of pod shapes.

Arguments, all weights: `leastrequested.weight` (1), `mostrequested.weight` (0),
`balancedresource.weight` (1), `nodeaffinity.weight` (2), `tainttoleration.weight` (3),
`podaffinity.weight` (2), `podtopologyspread.weight` (2), `imagelocality.weight` (1).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from vc.scheduling.cache.images import ImageRow, locality
from vc.scheduling.conf.arguments import weight
from vc.scheduling.framework.node_points import NodeCandidates
from vc.scheduling.model.node_table import Ints, Mask, StaticTable
from vc.scheduling.model.rows import PodRow
from vc.scheduling.plugins.nodeorder.pod_affinity import POINTS, affinity_scores, spread_scores
from vc.scheduling.session.node_masks import any_term, intolerable

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

_GPU: Final = "nvidia.com/gpu"


class NodeOrderPlugin:
    """Scores by least requested, most requested and balanced use, and by the preferences of pods."""

    name: ClassVar[str] = "nodeorder"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._least = weight(arguments, "leastrequested.weight", 1)
        self._most = weight(arguments, "mostrequested.weight", 0)
        self._balanced = weight(arguments, "balancedresource.weight", 1)
        self._affinity = weight(arguments, "nodeaffinity.weight", 2)
        self._taints = weight(arguments, "tainttoleration.weight", 3)
        self._pod_affinity = weight(arguments, "podaffinity.weight", 2)
        self._images = weight(arguments, "imagelocality.weight", 1)
        self._spread = weight(arguments, "podtopologyspread.weight", 2)
        self._preferred: dict[bytes, Ints] = {}
        """By shape, over all nodes. The plugin is constructed once per session, so nothing expires.
        """

    def batch_node_order_scores(self, candidates: NodeCandidates) -> Ints:
        """Return the points that follow from resources and from static preferences."""
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

    def node_order_scores(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        """Return points from pod affinity and soft topology spread; None when neither applies."""
        pod_affinity, peering = session.pod_affinity, pod.shape.pod_terms
        found: list[Ints] = []
        if self._pod_affinity and (peering.preferred or pod_affinity.pulling(pod)):
            found.append(self._pod_affinity * affinity_scores(pod_affinity, pod, mask))
        if peering.soft_spread and self._spread:
            found.append(self._spread * spread_scores(pod_affinity, pod, mask))
        return np.sum(found, axis=0, dtype=np.int64) if found else None

    def image_node_order_scores(
        self, images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable
    ) -> Ints | None:
        """Return points for images that nodes already have; None when they do not matter."""
        found = locality(images, there, nodes, points=POINTS) if self._images else None
        return None if found is None else self._images * found

    def _preferences(self, candidates: NodeCandidates) -> Ints:
        """Compute the static preferences of a shape once per session."""
        shape, nodes, allowed = candidates.shape, candidates.nodes, candidates.allowed
        known = self._preferred.get(shape.key)
        if known is None:
            wanted = np.zeros(len(nodes.names), dtype=np.int64)
            for share, term in shape.preferred:
                wanted += share * any_term((term,), nodes)
            known = self._affinity * part_of_best(wanted, allowed)
            # The taint score is inverted: the node with the most intolerable taints has 0 points.
            if nodes.advised:
                against = intolerable(shape.constraints.tolerations, nodes)
                known = known + self._taints * (POINTS - part_of_best(against, allowed))
            self._preferred[shape.key] = known
        return known


def part_of_best(amounts: Ints, allowed: Mask) -> Ints:
    """Scale amounts to 0..POINTS, relative to the largest amount among the allowed nodes."""
    most = int(amounts[allowed].max(initial=0))
    parts: Ints = np.minimum(amounts * POINTS // max(most, 1), POINTS)
    return parts


def _apart(candidates: NodeCandidates, cpu: Ints, memory: Ints) -> Ints:
    """Return the standard deviation of the use of resources; GPUs count when the pod requests some."""
    column = candidates.resources.get(_GPU)
    if column is None or not candidates.request[column]:
        # The standard deviation of two values is half their difference.
        apart: Ints = np.abs(cpu - memory) // 2
        return apart
    gpu = used_points(candidates, column)
    mean = (cpu + memory + gpu) // 3
    variance = ((cpu - mean) ** 2 + (memory - mean) ** 2 + (gpu - mean) ** 2) // 3
    deviation: Ints = np.sqrt(variance).astype(np.int64)
    return deviation


def used_points(candidates: NodeCandidates, column: int) -> Ints:
    """Return the used part of a resource as 0..POINTS; a node without the resource counts as full."""
    # Avoids a division by zero on nodes without the resource; the minimum below caps the result.
    allocatable = np.maximum(candidates.allocatable[:, column, None], 1)
    quotient: NDArray[np.float64] = candidates.used_after(column) / allocatable * POINTS
    return np.minimum(quotient, POINTS).astype(np.int64)
