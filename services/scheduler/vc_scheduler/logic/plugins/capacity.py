"""capacity: what a queue deserves is written in its spec (behaviour.md 5.7).

A queue above others deserves what it says, or else what those below it deserve together. Resources a
queue does not name it does not deserve: it may borrow them, and others may have them back.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_messages.sessions import Reason
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.conf import HIERARCHY
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.plugins.limits import Limits
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.shares import SHARE_POINTS, Tree, share_of

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class Capacity:
    """Order by share of what is deserved, limits along the tree."""

    name: ClassVar[str] = "capacity"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._flat = arguments.get(HIERARCHY) == "false"
        self._tree: Tree | None = None
        self._limits: dict[str, Amounts] = {}
        self._deserved: dict[str, Amounts] = {}

    def deserved(self, session: "Session") -> Mapping[str, Amounts]:
        self._prepare(session)
        return self._deserved

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
        ]
        return (-queue.priority, tuple(shares), not deserved.get(queue.name))

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        self._prepare(session)
        return Limits(self._limits, flat=self._flat).refuse_enqueue(session, group)

    def refuse_pods(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        self._prepare(session)
        return Limits(self._limits, flat=self._flat).refuse_pods(
            session, group, shape=shape, count=count
        )

    def _prepare(self, session: "Session") -> None:
        if self._tree is not None:
            return
        self._tree = Tree(session, flat=self._flat)
        self._limits = self._tree.limits()
        for row in session.snapshot.queues.values():
            self._deserved[row.name] = self._of(row, depth=0)

    def _of(self, row: QueueRow, *, depth: int) -> Amounts:
        assert self._tree is not None
        children = self._tree.children.get(row.name, []) if depth < len(self._limits) else []
        deserved = dict(row.deserved)
        if not deserved:
            for child in children:
                for name, amount in self._of(child, depth=depth + 1).items():
                    deserved[name] = deserved.get(name, 0) + amount
        limit = self._limits.get(row.name, {})
        capped = {name: min(amount, limit.get(name, amount)) for name, amount in deserved.items()}
        for name, amount in self._tree.guarantee(row).items():
            capped[name] = max(capped.get(name, 0), amount)
        return capped
