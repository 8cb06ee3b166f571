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
from vc_model.keys import ROOT_QUEUE
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
        self._own: dict[tuple[str, str], int] = {}
        """By queue and resource: what its own jobs have."""
        self._below: dict[tuple[str, str], int] = {}
        """What those below it hold together; under _TOP what all do."""
        self._held: dict[tuple[str, str], int] = {}
        self._seen = len(session.touched)
        """How many of the session's changes are counted in these."""
        for name in self.resources:
            self._below[_TOP, name] = sum(self._count(row, name) for row in self._below_of(_TOP))

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
        self._follow()
        more = amount
        for row in self._session.line(queue):
            before = self._held[row.name, resource]
            more = self._with(row, resource, more) - before
            most = dict(row.capability).get(resource)
            if more > 0 and most is not None and before + more > most:
                return reasons.guaranteed(row.name, resource, needed=more, available=most - before)
        left = self._room[resource] - self._below[_TOP, resource]
        if more > 0 and more > left:
            return reasons.guaranteed("", resource, needed=more, available=left)
        return None

    def _below_of(self, name: str) -> list[QueueRow]:
        return self._children.get(name, [])

    def _with(self, row: QueueRow, resource: str, more: int) -> int:
        """What a queue holds, were there so much more in it or held below it."""
        own, below = self._own[row.name, resource], self._below[row.name, resource]
        return max(dict(row.guarantee).get(resource, 0), own + below + more)

    def _count(self, row: QueueRow, resource: str) -> int:
        """What a queue holds; those below it first."""
        at = (row.name, resource)
        self._below[at] = sum(self._count(child, resource) for child in self._below_of(row.name))
        self._own[at] = self._own_of(row.name, resource)
        self._held[at] = self._with(row, resource, 0)
        return self._held[at]

    def _own_of(self, name: str, resource: str) -> int:
        has = self._session.allocated(name).get(resource, 0)
        below = [self._session.allocated(child.name) for child in self._below_of(name)]
        return has - sum(amounts.get(resource, 0) for amounts in below)

    def _follow(self) -> None:
        """Count those queues anew of which something was placed or went, and those above them."""
        touched = self._session.touched
        for name in dict.fromkeys(touched[self._seen :]):
            for resource in self.resources if name in self._queues else ():
                self._own[name, resource] = self._own_of(name, resource)
                self._raise_line(name, resource)
        self._seen = len(touched)

    def _raise_line(self, name: str, resource: str) -> None:
        line = self._session.line(name)
        for row, above in zip(line, [*(row.name for row in line[1:]), _TOP], strict=True):
            held = self._with(row, resource, 0)
            self._below[above, resource] += held - self._held[row.name, resource]
            self._held[row.name, resource] = held

    def _for_queues(self, resource: str) -> int:
        """What the cluster has for queues: all but what pods outside of them have."""
        session = self._session
        total, used = session.cluster_amounts(resource)
        leaving = sum(dict(pod.shape.request).get(resource, 0) for pod in session.snapshot.leaving)
        inside = sum(
            use.allocated.get(resource, 0)
            for name, use in session.snapshot.use.items()
            if name in self._queues or ROOT_QUEUE in self._queues  # root has what has no queue
        )
        return total - max(0, used - inside - leaving)
