"""queues: who goes first, and nobody beyond its capability.

The order is queue priority, then the dominant share of the cluster per weight, so that queues fill
side by side. A capability binds a queue and everything below it. Deserved shares, borrowing and
reclaim come with the plugins proportion and capacity.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shapes import Shape

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

_SHARE_POINTS = 1_000_000


class Queues:
    """Order by priority and share; capability along the tree."""

    name: ClassVar[str] = "queues"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none

    def queue_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        shares = [
            amount * _SHARE_POINTS // (max(1, session.cluster_amounts(name)[0]) * queue.weight)
            for name, amount in session.allocated(queue.name).items()
        ]
        return (-queue.priority, max(shares, default=0))

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        """minResources beside what is allocated and promised must fit every capability above."""
        needed = dict(group.min_resources or ())
        for queue in session.line(group.queue):
            taken = session.committed(queue.name)
            available = {name: cap - taken.get(name, 0) for name, cap in queue.capability}
            if any(
                name in available and amount > available[name] for name, amount in needed.items()
            ):
                return reasons.over_capability(queue.name, needed, available)
        return None

    def refuse_pods(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        """`count` pods beside what is allocated must fit every capability above."""
        needed = {name: amount * count for name, amount in shape.request}
        for queue in session.line(group.queue):
            taken = session.allocated(queue.name)
            available = {name: cap - taken.get(name, 0) for name, cap in queue.capability}
            if any(
                name in available and amount > available[name] for name, amount in needed.items()
            ):
                return reasons.over_capability(queue.name, needed, available)
        return None
