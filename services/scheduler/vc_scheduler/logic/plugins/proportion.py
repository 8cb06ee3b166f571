"""proportion: the cluster shared out by weight, down the tree of queues (behaviour.md 5.7).

What a queue does not use others may borrow, until its jobs come and reclaim it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.amounts import NOT_REQUESTED, Amounts
from vc_scheduler.logic.conf import HIERARCHY
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.plugins.limits import Limits
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.shares import WEIGHT_MAX, Tree, share_of

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class Proportion:
    """Order by share of what is deserved, limits along the tree."""

    name: ClassVar[str] = "proportion"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._flat = arguments.get(HIERARCHY) == "false"
        self._tree: Tree | None = None
        self._deserved: dict[str, Amounts] = {}
        self._limits = Limits({})
        self._weights: dict[str, int] = {}
        self._keys: dict[str, tuple[int, OrderKey]] = {}
        """By queue, with the number of changes they were made after."""

    @property
    def flat(self) -> bool:
        """Only a queue's own capability limits it, not those above it."""
        return self._flat

    def deserved(self, session: "Session") -> Mapping[str, Amounts]:
        """Of the session's beginning: what is asked for does not change within it."""
        self._prepare(session)
        return self._deserved

    def queue_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        """Priority, then the share of each queue above, from the top, then its own; asked at every turn,
        and the same until something is placed or leaves."""
        known = self._keys.get(queue.name)
        if known is None or known[0] != len(session.touched):
            known = self._keys[queue.name] = (len(session.touched), self._queue_key(session, queue))
        return known[1]

    def _queue_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        deserved = self.deserved(session)
        shares = [
            share_of(session.allocated(row.name), deserved.get(row.name, {}))
            for row in reversed(session.line(queue.name)[: 1 if self._flat else None])
            if self._flat or row.name != session.common_top
        ]
        return (-queue.priority, tuple(shares))

    def refuse_turn(self, session: "Session", queue: QueueRow) -> Reason | None:
        """With `enabledOverused: true`: a queue that has all it deserves borrows nothing.

        A queue that could not deserve more with any weight has its turn: there is no room for it, and
        that is what its jobs are told.
        """
        if not _overused(self.deserved(session).get(queue.name, {}), session, queue):
            return None
        weight = self._helpful_weight(session, queue)
        return reasons.overused(queue, weight=weight) if weight else None

    def _helpful_weight(self, session: "Session", queue: QueueRow) -> int:
        """The least weight with which it deserves more than it has; 0 when none helps."""
        if queue.name not in self._weights:
            assert self._tree is not None
            low, high = queue.weight, WEIGHT_MAX + 1
            while low + 1 < high:  # not helpful, helpful
                middle = (low + high) // 2
                fair = self._tree.by_weight({queue.name: middle})
                if _overused(fair.get(queue.name, {}), session, queue):
                    low = middle
                else:
                    high = middle
            self._weights[queue.name] = high if high <= WEIGHT_MAX else 0
        return self._weights[queue.name]

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        self._prepare(session)
        return self._limits.refuse_enqueue(session, group)

    def refuse_pods(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        self._prepare(session)
        return self._limits.refuse_pods(session, group, shape=shape, count=count)

    def _prepare(self, session: "Session") -> None:
        if self._tree is None:
            self._tree = Tree(session, flat=self._flat)
            self._deserved = self._tree.by_weight()
            self._limits = Limits(self._tree.limits(), flat=self._flat)


def _overused(fair: Amounts, session: "Session", queue: QueueRow) -> bool:
    """It has all that it deserves, of everything that it asks for."""
    has = session.allocated(queue.name)
    asked = {n: amount for n, amount in fair.items() if amount and n not in NOT_REQUESTED}
    return bool(asked) and all(has.get(name, 0) >= amount for name, amount in asked.items())
