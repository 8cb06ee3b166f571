"""How many pods nodes could take at most, each shape by itself: asked before anything is tried.

Evictions cannot give what empty nodes would not have, and those of some pods not what their nodes do not have
without them. Such a no costs a look at the nodes, and saves a job the trials that would be in vain in every
session.
"""

import numpy as np

from vc_scheduler.logic.fit import Ints, capacity
from vc_scheduler.logic.rooms import Rooms, together
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.vacancy import Vacancies


class Reach:
    """With so much free on each node."""

    def __init__(self, rooms: Rooms, free: Ints) -> None:
        self._rooms = rooms
        self._free = np.maximum(free, 0)
        self._vacancies = Vacancies(lambda mask: self._free[mask])
        self._most: dict[bytes, int] = {}

    def covers(self, group: GroupRow, missing: list[tuple[str | None, int]]) -> bool:
        """Whether there is room for what a gang lacks, each part of it by itself; an upper bound."""
        for role, count in missing:
            runs = [run for run in group.runs if role in (None, run.role)]
            if sum(min(len(run.pods), self.most(run.shape)) for run in runs) < count:
                return False
        return True

    def most(self, shape: Shape) -> int:
        """How many pods of the shape the nodes that it may go to could take."""
        known = self._most.get(shape.key)
        if known is None:
            known = self._most[shape.key] = self._count(shape) if self._rooms.knows(shape) else 0
        return known

    def _count(self, shape: Shape) -> int:
        filtered, request = self._rooms.filtered(shape), self._rooms.request(shape)
        if self._vacancies.of(filtered).takes_none(request):
            return 0
        return together(capacity(self._free[filtered.mask], request))
