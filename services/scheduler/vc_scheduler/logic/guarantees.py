"""What queues are guaranteed stays free for them, whoever else asks.

A queue *holds* what it has, and at least what it is guaranteed; one above others holds at least what its
own jobs have and those below it hold together. Pods may be placed while all queues together hold no more
than the cluster has for them, and each queue no more than its capability. A queue that fills its own
guarantee holds nothing more by it, so nobody can be in its way.

Limits of single queues (`shares.Tree.limits`) are not enough: two queues that each stay within theirs
can take what a third is guaranteed together.
"""

from typing import TYPE_CHECKING

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.rows import QueueRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

_TOP = ""


class Guarantees:
    """The guarantees of one session's queues; made when the first pod asks."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._queues = session.snapshot.queues
        self._children: dict[str, list[QueueRow]] = {}
        self.resources = {
            name: None for row in self._queues.values() for name, least in row.guarantee if least
        }
        """Of which anybody is guaranteed anything; usually none."""
        for row in self._queues.values() if self.resources else ():
            line = session.line(row.name)
            self._children.setdefault(line[1].name if len(line) > 1 else _TOP, []).append(row)
        self._room = {name: self._for_queues(name) for name in self.resources}

    def refuse(self, queue: str, needed: Amounts) -> Reason | None:
        """Why the queue may not take that much more; None when it may."""
        for resource in self.resources:
            amount = needed.get(resource, 0)
            if amount:
                reason = self._refuse(queue, resource, amount)
                if reason is not None:
                    return reason
        return None

    def _refuse(self, queue: str, resource: str, amount: int) -> Reason | None:
        more = amount
        for row in self._session.line(queue):
            before = self._holds(row, resource)
            more = self._holds(row, resource, at=queue, more=amount) - before
            most = dict(row.capability).get(resource)
            if more > 0 and most is not None and before + more > most:
                return reasons.guaranteed(row.name, resource, needed=more, available=most - before)
        held = sum(self._holds(row, resource) for row in self._children.get(_TOP, []))
        left = self._room[resource] - held
        if more > 0 and more > left:
            return reasons.guaranteed("", resource, needed=more, available=left)
        return None

    def _holds(
        self, row: QueueRow, resource: str, *, at: str = "", more: int = 0, depth: int = 0
    ) -> int:
        """What a queue holds, were there so much `more` at one of those below it or itself."""
        children = self._children.get(row.name, []) if depth < len(self._queues) else []
        has = self._session.allocated(row.name).get(resource, 0)
        below = sum(self._session.allocated(child.name).get(resource, 0) for child in children)
        held = sum(
            self._holds(child, resource, at=at, more=more, depth=depth + 1) for child in children
        )
        own = has - below + (more if row.name == at else 0)
        return max(dict(row.guarantee).get(resource, 0), own + held)

    def _for_queues(self, resource: str) -> int:
        """What the cluster has for queues: all but what pods outside of them have."""
        session = self._session
        total, used = session.cluster_amounts(resource)
        leaving = sum(dict(pod.shape.request).get(resource, 0) for pod in session.snapshot.leaving)
        inside = sum(
            use.allocated.get(resource, 0)
            for name, use in session.snapshot.use.items()
            if name in self._queues
        )
        return total - max(0, used - inside - leaving)
