"""Whether a gang could fit without some victims, as far as free resources tell: asked before a simulation.

An upper bound, each task by itself, as `Reach` is for all nodes at once: what it denies no simulation
would find. Only the nodes of the victims are looked at again for each set, and what their queues
have then.
"""

from collections.abc import Sequence

import numpy as np

from vc_scheduler.logic.fit import capacity
from vc_scheduler.logic.leaving import freed_by_queue, those_leaving
from vc_scheduler.logic.placing import Missing, refused_by_queue
from vc_scheduler.logic.rooms import together
from vc_scheduler.logic.rows import GroupRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.table import Ints, Mask
from vc_scheduler.logic.victims import Bundle, pods_of


class _ShapeCapacity:
    """How many pods of one shape the nodes take now."""

    def __init__(self, free: Ints, mask: Mask, request: Ints) -> None:
        self.mask = mask
        self.asked = [(int(column), int(request[column])) for column in np.flatnonzero(request)]
        usable: Ints = np.maximum(free, 0)
        self.each: Ints = np.where(mask, capacity(usable, request), 0)
        self.total = together(self.each)


class CapacityBound:
    """For what one gang lacks, over the nodes as they are when it is made."""

    def __init__(self, session: Session, group: GroupRow, missing: Missing) -> None:
        self._session = session
        self._group = group
        self._missing = missing
        self._runs = group.runs
        rooms = session.rooms
        self._free: Ints = rooms.nodes.allocatable - rooms.used
        for shape, _, rows in those_leaving(session, victims=True).parts:
            np.add.at(self._free, rows, rooms.request(shape))
        self._known: dict[bytes, _ShapeCapacity | None] = {}

    def covers(self, chosen: Sequence[Bundle]) -> bool:
        """Whether there may be room for the gang without these."""
        freed = self._freed(chosen)
        for role, count in self._missing:
            runs = [run for run in self._runs if role in (None, run.role)]
            if sum(self._most(run, freed) for run in runs) < count:
                return False
        return self._queue_permits(chosen)

    def _queue_permits(self, chosen: Sequence[Bundle]) -> bool:
        """Whether the queue takes what the gang lacks without the victims, each task by itself."""
        session = self._session
        freed = freed_by_queue(session, pods_of(chosen))
        for queue, amounts in freed.items():
            session.count_leaving(queue, amounts, sign=-1)
        permits = True
        for role, count in self._missing:
            runs = [run for run in self._runs if role in (None, run.role)]
            if len(runs) == 1:  # of several tasks it is open how many pods each of them gives
                refusal = refused_by_queue(session, self._group, runs[0].shape, count=count)
                permits &= refusal is None
        for queue, amounts in freed.items():
            session.count_leaving(queue, amounts, sign=1)
        return permits

    def _freed(self, chosen: Sequence[Bundle]) -> dict[int, Ints]:
        """By row of a node, what is free there without the victims."""
        session = self._session
        free: dict[int, Ints] = {}
        for pod in pods_of(chosen):
            row = session.snapshot.nodes.static.row(pod.node)
            if row is not None:
                before = free.get(row)
                request = session.rooms.request(pod.shape)
                free[row] = (self._free[row] if before is None else before) + request
        return free

    def _most(self, run: Run, freed: dict[int, Ints]) -> int:
        known = self._capacity(run.shape)
        if known is None:
            return 0
        total = known.total
        for row, free in freed.items():
            if known.mask[row]:
                now = int(known.each[row])
                fits = min((max(0, int(free[c])) // a for c, a in known.asked), default=now)
                total += fits - now
        return min(len(run.pods), total)

    def _capacity(self, shape: Shape) -> _ShapeCapacity | None:
        if shape.key not in self._known:
            rooms = self._session.rooms
            known = rooms.knows(shape)
            self._known[shape.key] = (
                _ShapeCapacity(self._free, rooms.filtered(shape).mask, rooms.request(shape))
                if known
                else None
            )
        return self._known[shape.key]
