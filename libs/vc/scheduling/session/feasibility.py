"""Upper bound of the pods that could be placed, each shape by itself, before any simulation.

Evictions cannot free more than empty nodes have, nor more than the nodes of the victims have
without them. The bound costs one pass over the nodes, and saves preemption attempts that would
fail in every session.
"""

from typing import TYPE_CHECKING

import numpy as np

from vc.scheduling.model.rows import GroupRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.session.batch_fit import Ints, capacity
from vc.scheduling.session.free_resources import FreeResourcesCache
from vc.scheduling.session.node_capacity import NodeCapacity, together

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class FeasibilityBound:
    """The upper bound for given free resources of each node."""

    def __init__(self, node_capacity: NodeCapacity, free: Ints) -> None:
        self._node_capacity = node_capacity
        self._free = np.maximum(free, 0)
        self._free_resources = FreeResourcesCache(lambda mask: self._free[mask])
        self._most: dict[bytes, int] = {}

    def covers(self, group: GroupRow, missing: list[tuple[str | None, int]]) -> bool:
        """Whether the missing pods of a gang could fit. Each task is checked by itself, so True is
        no guarantee and False is final."""
        for task, count in missing:
            runs = [run for run in group.runs if task in (None, run.task)]
            # Shapes of one task compete for the same nodes; ignoring that keeps the sum an upper bound.
            if sum(min(len(run.pods), self.most(run.shape)) for run in runs) < count:
                return False
        return True

    def most(self, shape: Shape) -> int:
        """The number of pods of the shape that could fit on the nodes allowed for it."""
        known = self._most.get(shape.key)
        if known is None:
            known = self._most[shape.key] = (
                self._count(shape) if self._node_capacity.knows(shape) else 0
            )
        return known

    def _count(self, shape: Shape) -> int:
        filtered, request = self._node_capacity.filtered(shape), self._node_capacity.request(shape)
        # The check of the largest free amounts avoids a division per node.
        if self._free_resources.of(filtered).fits_none(request):
            return 0
        return together(capacity(self._free[filtered.mask], request))


def empty_node_bound(session: "Session") -> FeasibilityBound:
    """The bound of empty nodes: what it rejects, no eviction can place. Used with `cached`."""
    return FeasibilityBound(session.node_capacity, session.node_capacity.nodes.allocatable)
