"""capacity: the deserved share of a queue is written in its spec (docs/behaviour.md 5.7).

A queue without `deserved` deserves the sum of its child queues. The deserved share is capped by the
queue's limit and by the size of the cluster, and it is never below the guarantee. A queue deserves
nothing of a resource that it does not list: it may borrow that resource, and other queues may
reclaim it. `reclaim_rules.OneResourceRule` has the rules of reclaim.

With `enableHierarchy: true` only leaf queues run jobs, as in Volcano. Where the switch is not
written, the tree still limits queues, but jobs of a queue with children are placed.

Argument: `ancestorReclaimLevel` (0), the number of ancestors whose deserved share a claimant may use.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc.messages.sessions import Reason
from vc.model.values.resources import Resources
from vc.scheduling.conf.arguments import weight
from vc.scheduling.conf.model import HIERARCHY
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import GroupRow, QueueRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.plugins.queue_shares.limits import QueueLimits
from vc.scheduling.plugins.queue_shares.reclaim_rules import OneResourceRule
from vc.scheduling.plugins.queue_shares.tree import SHARE_POINTS, Tree, share_of
from vc.scheduling.session import reasons

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class Capacity:
    """Orders queues by their use of the deserved share, and limits them along the queue tree."""

    name: ClassVar[str] = "capacity"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._flat = arguments.get(HIERARCHY) == "false"
        self._leaves_only = arguments.get(HIERARCHY) == "true"
        self._level = weight(arguments, "ancestorReclaimLevel", 0)
        self._tree: Tree | None = None
        self._limits: dict[str, Amounts] = {}
        self._deserved: dict[str, Amounts] = {}

    def flat_queue_limits(self) -> bool:
        """Whether a queue is limited by its own capability only, without its ancestors."""
        return self._flat

    def deserved_shares(self, session: "Session") -> Mapping[str, Amounts]:
        """Return the deserved amounts of every queue; they do not change within a session."""
        self._prepare(session)
        return self._deserved

    def queue_reclaim_rule(
        self, session: "Session", queue: str, needed: Amounts
    ) -> OneResourceRule:
        """Return the reclaim rule for a job of `queue` that needs the amounts `needed`."""
        deserved = self.deserved_shares(session)
        return OneResourceRule(session, deserved, queue, needed, level=self._level, flat=self._flat)

    def queue_order_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        """Order by priority, then by shares from the top of the tree down.

        A queue that deserves nothing counts as full.
        """
        deserved = self.deserved_shares(session)
        shares = [
            share_of(
                {
                    n: a
                    for n, a in session.accounts.allocated(row.name).items()
                    if n in deserved[row.name]
                },
                deserved[row.name],
            )
            if deserved.get(row.name)
            else SHARE_POINTS
            # The common top queue is skipped: it has the same share for all queues, so it cannot
            # separate two of them.
            for row in reversed(session.accounts.ancestors(queue.name)[: 1 if self._flat else None])
            if self._flat or row.name != session.accounts.common_top
        ]
        return (-queue.priority, tuple(shares), not deserved.get(queue.name))

    def job_enqueueable_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """Refuse a group that would exceed the limits, or whose queue must not run jobs."""
        parent = self._parent_queue_refusal(session, group)
        limits = QueueLimits(self._limits, flat=self._flat)
        return parent or limits.enqueue_refusal(session, group)

    def allocatable_refusal(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        """Refuse `count` pods that would exceed the limits of the queue or an ancestor."""
        parent = self._parent_queue_refusal(session, group)
        limits = QueueLimits(self._limits, flat=self._flat)
        return parent or limits.pods_refusal(session, group, shape=shape, count=count)

    def _parent_queue_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """Refuse jobs of a queue with children when only leaf queues run jobs."""
        self._prepare(session)
        assert self._tree is not None
        if not self._leaves_only or not self._tree.children.get(group.queue):
            return None
        leaves = self._tree.leaves(group.queue)
        # The reason suggests queues that can run the job. Closed ones are named only when all are
        # closed.
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
        """Compute the deserved amounts of a queue once, child queues first."""
        assert self._tree is not None
        if row.name in self._deserved:
            return self._deserved[row.name]
        deserved = Resources(row.deserved)
        # A queue without a deserved share of its own deserves the sum of its children.
        if not deserved:
            for child in self._tree.children.get(row.name, []):
                deserved.add(self._of(session, child))
        limit = self._limits.get(row.name, {})
        capped = Resources()
        for name, amount in deserved.items():
            there = session.cluster_amounts(name)[0]
            # A share beyond the limit or the cluster could never be reclaimed, and it would make
            # the queue appear less used than it is.
            capped[name] = min(amount, limit.get(name, there), there)
        # The guarantee is never reclaimed, so it is deserved even where the spec lists less.
        capped.raise_to(self._tree.guarantee(row))
        self._deserved[row.name] = capped
        return capped
