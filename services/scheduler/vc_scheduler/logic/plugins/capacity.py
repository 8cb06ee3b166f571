"""capacity: what a queue deserves is written in its spec (behaviour.md 5.7).

A queue above others deserves what it says, or else what those below it deserve together; nobody deserves
more than it may have, nor more than there is. Resources a queue does not name it does not deserve: it may
borrow them, and others may have them back. Who may take back what, and from whom: `taking_back.ByOne`.

With `enableHierarchy: true` only queues with none below them take jobs, as upstream. Where the switch is
not written the tree limits queues all the same, and jobs of a queue above others are placed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.conf import HIERARCHY
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.plugins.arguments import weight
from vc_scheduler.logic.plugins.limits import Limits
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.shares import SHARE_POINTS, Tree, share_of
from vc_scheduler.logic.taking_back import ByOne

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class Capacity:
    """Order by share of what is deserved, limits along the tree."""

    name: ClassVar[str] = "capacity"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._flat = arguments.get(HIERARCHY) == "false"
        self._leaves_only = arguments.get(HIERARCHY) == "true"
        self._level = weight(arguments, "ancestorReclaimLevel", 0)
        self._tree: Tree | None = None
        self._limits: dict[str, Amounts] = {}
        self._deserved: dict[str, Amounts] = {}

    @property
    def flat(self) -> bool:
        """Only a queue's own capability limits it, not those above it."""
        return self._flat

    def deserved(self, session: "Session") -> Mapping[str, Amounts]:
        self._prepare(session)
        return self._deserved

    def taking_back(self, session: "Session", queue: str, needed: Amounts) -> ByOne:
        return ByOne(
            session, self.deserved(session), queue, needed, level=self._level, flat=self._flat
        )

    def queue_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        """Priority, then shares from the top down; a queue that deserves nothing counts as full."""
        deserved = self.deserved(session)
        shares = [
            share_of(
                {n: a for n, a in session.allocated(row.name).items() if n in deserved[row.name]},
                deserved[row.name],
            )
            if deserved.get(row.name)
            else SHARE_POINTS
            for row in reversed(session.line(queue.name)[: 1 if self._flat else None])
            if self._flat or row.name != session.common_top
        ]
        return (-queue.priority, tuple(shares), not deserved.get(queue.name))

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        above = self._refuse_above(session, group)
        limits = Limits(self._limits, flat=self._flat)
        return above or limits.refuse_enqueue(session, group)

    def refuse_pods(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        above = self._refuse_above(session, group)
        limits = Limits(self._limits, flat=self._flat)
        return above or limits.refuse_pods(session, group, shape=shape, count=count)

    def _refuse_above(self, session: "Session", group: GroupRow) -> Reason | None:
        """Queues above others take no jobs."""
        self._prepare(session)
        assert self._tree is not None
        if not self._leaves_only or not self._tree.children.get(group.queue):
            return None
        leaves = self._tree.leaves(group.queue)
        names = [row.name for row in leaves if row.open] or [row.name for row in leaves]
        return reasons.queue_above(group.queue, names)

    def _prepare(self, session: "Session") -> None:
        if self._tree is not None:
            return
        self._tree = Tree(session, flat=self._flat)
        self._limits = self._tree.limits()
        for row in session.snapshot.queues.values():
            self._of(session, row)

    def _of(self, session: "Session", row: QueueRow) -> Amounts:
        """What a queue deserves; counted once, those below it first."""
        assert self._tree is not None
        if row.name in self._deserved:
            return self._deserved[row.name]
        deserved = dict(row.deserved)
        if not deserved:
            for child in self._tree.children.get(row.name, []):
                for name, amount in self._of(session, child).items():
                    deserved[name] = deserved.get(name, 0) + amount
        limit = self._limits.get(row.name, {})
        capped: Amounts = {}
        for name, amount in deserved.items():
            there = session.cluster_amounts(name)[0]
            capped[name] = min(amount, limit.get(name, there), there)
        for name, amount in self._tree.guarantee(row).items():
            capped[name] = max(capped.get(name, 0), amount)
        self._deserved[row.name] = capped
        return capped
