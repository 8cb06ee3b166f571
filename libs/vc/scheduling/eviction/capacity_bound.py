"""An upper bound for a victim set: whether a gang could fit without these pods. Saves simulations.

Each task is checked on its own, as in `FeasibilityBound`. If the bound rejects a victim set, the
simulation would reject it too. For each set, only the nodes and the queues of the victims are
computed again.
"""

from collections.abc import Sequence

import numpy as np

from vc.scheduling.eviction.victims import Bundle, pods_of
from vc.scheduling.model.node_table import Ints, Mask
from vc.scheduling.model.rows import GroupRow, Run
from vc.scheduling.model.shapes import Shape
from vc.scheduling.placement.gang import Missing, refused_by_queue
from vc.scheduling.placement.simulated_removal import freed_by_queue, terminating_pods
from vc.scheduling.session.batch_fit import capacity
from vc.scheduling.session.node_capacity import together
from vc.scheduling.session.session import Session


class _ShapeCapacity:
    """How many pods of one shape fit on each node and on all nodes, without any victim removed."""

    def __init__(self, free: Ints, mask: Mask, request: Ints) -> None:
        self.mask = mask
        self.asked = [(int(column), int(request[column])) for column in np.flatnonzero(request)]
        # An overcommitted node, such as one with a reservation, counts as full and not as
        # negative capacity.
        usable: Ints = np.maximum(free, 0)
        self.each: Ints = np.where(mask, capacity(usable, request), 0)
        self.total = together(self.each)


class CapacityBound:
    """The bound for the missing pods of one gang, over node capacity at the time of creation."""

    def __init__(self, session: Session, group: GroupRow, missing: Missing) -> None:
        self._session = session
        self._group = group
        self._missing = missing
        self._runs = group.runs
        node_capacity = session.node_capacity
        self._free: Ints = node_capacity.nodes.allocatable - node_capacity.used
        # The simulation also removes terminating pods and earlier victims, so the bound counts them
        # as free.
        for shape, _, rows in terminating_pods(session, victims=True).parts:
            # `add.at` and not `+=`: two pods on one node repeat its row, and `+=` would add
            # only one.
            np.add.at(self._free, rows, node_capacity.request(shape))
        # The search checks hundreds of sets that differ only in a few victims. So the
        # capacity without victims is computed once per shape, and each set corrects the
        # rows of its victims only.
        self._known: dict[bytes, _ShapeCapacity | None] = {}

    def covers(self, chosen: Sequence[Bundle]) -> bool:
        """Whether the gang may fit on nodes and in its queue's quota without these victims."""
        freed = self._freed(chosen)
        for task, count in self._missing:
            runs = [run for run in self._runs if task in (None, run.task)]
            if sum(self._most(run, freed) for run in runs) < count:
                return False
        # The quota comes last because its check changes the accounts and has to restore them.
        return self._queue_permits(chosen)

    def _queue_permits(self, chosen: Sequence[Bundle]) -> bool:
        """Whether the queue's quota may cover the gang without the victims, task by task."""
        session = self._session
        # The victims are subtracted from their queues for the check and added again afterwards.
        freed = freed_by_queue(session, pods_of(chosen))
        for queue, amounts in freed.items():
            session.accounts.count_terminating(queue, amounts, sign=-1)
        permits = True
        for task, count in self._missing:
            runs = [run for run in self._runs if task in (None, run.task)]
            # Two tasks may pass one by one and fail together, so True is no proof; False is.
            if len(runs) == 1:  # with several runs, the number of pods of each of them is open
                refusal = refused_by_queue(session, self._group, runs[0].shape, count=count)
                permits &= refusal is None
        for queue, amounts in freed.items():
            session.accounts.count_terminating(queue, amounts, sign=1)
        return permits

    def _freed(self, chosen: Sequence[Bundle]) -> dict[int, Ints]:
        """Free resources without the victims, by row of their nodes."""
        session = self._session
        free: dict[int, Ints] = {}
        for pod in pods_of(chosen):
            row = session.snapshot.nodes.static.row(pod.node)
            # A pod whose node was deleted still counts for its queue, but its eviction
            # frees no node.
            if row is not None:
                before = free.get(row)
                request = session.node_capacity.request(pod.shape)
                free[row] = (self._free[row] if before is None else before) + request
        return free

    def _most(self, run: Run, freed: dict[int, Ints]) -> int:
        """The largest number of the run's pods that could be placed.

        `freed` replaces these rows.
        """
        known = self._capacity(run.shape)
        if known is None:
            return 0
        total = known.total
        for row, free in freed.items():
            if known.mask[row]:
                now = int(known.each[row])
                # A shape without requests fits without limit in any case, so victims change
                # nothing for it.
                fits = min((max(0, int(free[c])) // a for c, a in known.asked), default=now)
                total += fits - now
        # A run cannot supply more pods than it has. Without the limit, one run with much capacity
        # would hide that another run of the task has none.
        return min(len(run.pods), total)

    def _capacity(self, shape: Shape) -> _ShapeCapacity | None:
        """The capacity for a shape, computed once; None if no node has one of its resources."""
        if shape.key not in self._known:
            node_capacity = self._session.node_capacity
            known = node_capacity.knows(shape)
            self._known[shape.key] = (
                _ShapeCapacity(
                    self._free, node_capacity.filtered(shape).mask, node_capacity.request(shape)
                )
                if known
                else None
            )
        return self._known[shape.key]
