"""proportion: the cluster is divided by weight down the queue tree (docs/behaviour.md 5.7).

Other queues may borrow what a queue does not use, until its jobs reclaim it. With
`enabledOverused: true` a queue that has its deserved share starts no further pods. With
`enableHierarchy: false` every queue stands alone. The plugin has no arguments.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc.messages.sessions import Reason
from vc.scheduling.conf.model import HIERARCHY
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.amounts import NOT_REQUESTED, Amounts
from vc.scheduling.model.rows import GroupRow, QueueRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.plugins.queue_shares.limits import QueueLimits
from vc.scheduling.plugins.queue_shares.tree import WEIGHT_MAX, Tree, share_of
from vc.scheduling.session import reasons

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class Proportion:
    """Orders queues by their use of the deserved share, and limits them along the queue tree."""

    name: ClassVar[str] = "proportion"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._flat = arguments.get(HIERARCHY) == "false"
        self._tree: Tree | None = None
        self._deserved: dict[str, Amounts] = {}
        self._limits = QueueLimits({})
        self._weights: dict[str, int] = {}
        self._keys: dict[str, tuple[int, OrderKey]] = {}
        """By queue: the order key, and the number of changes in the session when it was computed.
        """

    def flat_queue_limits(self) -> bool:
        """Whether a queue is limited by its own capability only, without its ancestors."""
        return self._flat

    def deserved_shares(self, session: "Session") -> Mapping[str, Amounts]:
        """Return deserved amounts as of the start of the session; requests do not change within it."""
        self._prepare(session)
        return self._deserved

    def queue_order_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        """Order by priority, then by shares from the top of the tree down.

        The key is requested before every job and is cached until a pod is placed or removed.
        """
        known = self._keys.get(queue.name)
        if known is None or known[0] != len(session.accounts.changed):
            known = self._keys[queue.name] = (
                len(session.accounts.changed),
                self._compute_key(session, queue),
            )
        return known[1]

    def _compute_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        deserved = self.deserved_shares(session)
        shares = [
            share_of(session.accounts.allocated(row.name), deserved.get(row.name, {}))
            # The common top queue is skipped: it has the same share for all queues, so it cannot
            # separate two of them.
            for row in reversed(session.accounts.ancestors(queue.name)[: 1 if self._flat else None])
            if self._flat or row.name != session.accounts.common_top
        ]
        return (-queue.priority, tuple(shares))

    def overused_refusal(self, session: "Session", queue: QueueRow) -> Reason | None:
        """With `enabledOverused: true`, refuse a queue that uses all it deserves.

        A queue that would not deserve more with any weight is not refused. Its jobs fail to fit on
        the nodes, and that is the reason a user needs to see.
        """
        if not _overused(self.deserved_shares(session).get(queue.name, {}), session, queue):
            return None
        weight = self._helpful_weight(session, queue)
        return reasons.overused(queue, weight=weight) if weight else None

    def _helpful_weight(self, session: "Session", queue: QueueRow) -> int:
        """Return the smallest weight with which the queue deserves more than it has; 0 for none."""
        if queue.name not in self._weights:
            assert self._tree is not None
            # A larger weight never deserves less, so a binary search finds the smallest one.
            low, high = queue.weight, WEIGHT_MAX + 1
            while low + 1 < high:  # `low` does not help, `high` does
                middle = (low + high) // 2
                fair = self._tree.by_weight({queue.name: middle})
                if _overused(fair.get(queue.name, {}), session, queue):
                    low = middle
                else:
                    high = middle
            self._weights[queue.name] = high if high <= WEIGHT_MAX else 0
        return self._weights[queue.name]

    def job_enqueueable_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """Refuse a group whose minimum would exceed the limits of its queue or an ancestor."""
        self._prepare(session)
        return self._limits.enqueue_refusal(session, group)

    def allocatable_refusal(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        """Refuse `count` pods that would exceed the limits of the queue or an ancestor."""
        self._prepare(session)
        return self._limits.pods_refusal(session, group, shape=shape, count=count)

    def _prepare(self, session: "Session") -> None:
        if self._tree is None:
            self._tree = Tree(session, flat=self._flat)
            self._deserved = self._tree.by_weight()
            self._limits = QueueLimits(self._tree.limits(), flat=self._flat)


def _overused(fair: Amounts, session: "Session", queue: QueueRow) -> bool:
    """Whether the queue has at least its deserved amount of every resource that it requests."""
    has = session.accounts.allocated(queue.name)
    shares = {n: amount for n, amount in fair.items() if amount and n not in NOT_REQUESTED}
    return bool(shares) and all(has.get(name, 0) >= amount for name, amount in shares.items())
