"""Nobody beyond its capability, nor into what siblings are guaranteed; for proportion and capacity."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.recoverable import preemptable
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shapes import Shape

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class Limits:
    """Checks along a queue's line."""

    def __init__(self, limits: Mapping[str, Amounts], *, flat: bool = False) -> None:
        self._limits = limits
        self._flat = flat

    def _line(self, session: "Session", queue: str) -> list[QueueRow]:
        """The queue and those above it; without hierarchy the queue alone."""
        return session.line(queue)[: 1 if self._flat else None]

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        """minResources beside what is allocated and promised; lower priorities can make room."""
        needed = dict(group.min_resources or ())
        for queue in self._line(session, group.queue):
            taken = session.committed(queue.name)
            available = {n: most - taken.get(n, 0) for n, most in self._limits[queue.name].items()}
            if _over(needed, available):
                freed = preemptable(session, group)
                if _over(needed, {n: left + freed.get(n, 0) for n, left in available.items()}):
                    return reasons.over_capability(queue.name, needed, available)
        return None

    def refuse_pods(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        """`count` pods beside what is allocated."""
        needed = {name: amount * count for name, amount in shape.request}
        for queue in self._line(session, group.queue):
            taken = session.allocated(queue.name)
            available = {n: most - taken.get(n, 0) for n, most in self._limits[queue.name].items()}
            if _over(needed, available):
                return reasons.over_capability(queue.name, needed, available)
        return session.guarantees.refuse(group.queue, needed)


def _over(needed: Amounts, available: Amounts) -> bool:
    return any(name in available and amount > available[name] for name, amount in needed.items())
