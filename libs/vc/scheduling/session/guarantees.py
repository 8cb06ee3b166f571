"""Keeps the guarantees of queues free, no matter which other queue requests resources.

The *claim* of a queue is what it has, and at least its guarantee. A parent queue claims at least
what its own jobs have plus the claims of its children. Pods may be placed as long as the claims of
all queues fit the cluster, and the claim of each queue fits its capability. A queue that fills its
own guarantee does not increase its claim, so no other queue can block it.

Limits of single queues (`plugins/queue_shares/tree.py`, `Tree.limits`) are not sufficient: two
queues within their limits can together use what a third queue is guaranteed.
"""

from typing import TYPE_CHECKING

from vc.messages.sessions import Reason
from vc.model.api.keys import ROOT_QUEUE
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import QueueRow
from vc.scheduling.session import reasons

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

_TOP = ""


class Guarantees:
    """The guarantees of one session's queues, created on first use."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._queues = session.snapshot.queues
        self._children: dict[str, list[QueueRow]] = {}
        self.resources = {
            name: None for row in self._queues.values() for name, least in row.guarantee if least
        }
        """Resources that any queue is guaranteed; usually none."""
        # Without guarantees, which is the usual case, nothing is indexed and nothing is ever refused.
        for row in self._queues.values() if self.resources else ():
            rows = session.accounts.ancestors(row.name)
            self._children.setdefault(rows[1].name if len(rows) > 1 else _TOP, []).append(row)
        self._shared = {name: self._for_queues(name) for name in self.resources}
        self._own: dict[tuple[str, str], int] = {}
        """By queue and resource: what the queue's own jobs have, without its children."""
        self._below: dict[tuple[str, str], int] = {}
        """By queue and resource: the sum of the claims of its children; under _TOP that of all
        top-level queues."""
        self._claims: dict[tuple[str, str], int] = {}
        """By queue and resource: the claim, which is never less than the guarantee."""
        self._seen = len(session.accounts.changed)
        """The number of session changes that these sums include."""
        for name in self.resources:
            self._below[_TOP, name] = sum(self._count(row, name) for row in self._below_of(_TOP))

    def refuse(self, queue: str, needed: Amounts) -> Reason | None:
        """Why the queue may not use that much more; None if it may."""
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
        for row in self._session.accounts.ancestors(queue):
            # The increase shrinks on its way up: a queue below its guarantee has already claimed it.
            before = self._claims[row.name, resource]
            more = self._with(row, resource, more) - before
            most = dict(row.capability).get(resource)
            if more > 0 and most is not None and before + more > most:
                return reasons.guaranteed(row.name, resource, needed=more, available=most - before)
        # The claims of all queues together must fit the cluster.
        left = self._shared[resource] - self._below[_TOP, resource]
        if more > 0 and more > left:
            return reasons.guaranteed("", resource, needed=more, available=left)
        return None

    def _below_of(self, name: str) -> list[QueueRow]:
        return self._children.get(name, [])

    def _with(self, row: QueueRow, resource: str, more: int) -> int:
        """The claim of a queue, if it had so much more itself or in its children."""
        own, below = self._own[row.name, resource], self._below[row.name, resource]
        return max(dict(row.guarantee).get(resource, 0), own + below + more)

    def _count(self, row: QueueRow, resource: str) -> int:
        """Compute the claim of a queue, children first."""
        at = (row.name, resource)
        self._below[at] = sum(self._count(child, resource) for child in self._below_of(row.name))
        self._own[at] = self._own_of(row.name, resource)
        self._claims[at] = self._with(row, resource, 0)
        return self._claims[at]

    def _own_of(self, name: str, resource: str) -> int:
        # The session adds the allocation of children to their parents.
        # What is left after the children is what the queue's own jobs have.
        has = self._session.accounts.allocated(name).get(resource, 0)
        below = [self._session.accounts.allocated(child.name) for child in self._below_of(name)]
        return has - sum(amounts.get(resource, 0) for amounts in below)

    def _follow(self) -> None:
        """Update the queues whose allocation changed since the last call, and their ancestors."""
        changed = self._session.accounts.changed
        for name in dict.fromkeys(changed[self._seen :]):
            for resource in self.resources if name in self._queues else ():
                self._own[name, resource] = self._own_of(name, resource)
                self._raise_ancestors(name, resource)
        self._seen = len(changed)

    def _raise_ancestors(self, name: str, resource: str) -> None:
        rows = self._session.accounts.ancestors(name)
        # Only the difference is passed upwards, so an update does not visit the rest of the tree.
        for row, above in zip(rows, [*(row.name for row in rows[1:]), _TOP], strict=True):
            claim = self._with(row, resource, 0)
            self._below[above, resource] += claim - self._claims[row.name, resource]
            self._claims[row.name, resource] = claim

    def _for_queues(self, resource: str) -> int:
        """What the cluster has for queues: all except what pods outside of queues use."""
        session = self._session
        total, used = session.cluster_amounts(resource)
        # Terminating pods no longer count for their queue, but their resources return to queues.
        terminating = sum(
            dict(pod.shape.request).get(resource, 0) for pod in session.snapshot.terminating_pods
        )
        inside = sum(
            use.allocated.get(resource, 0)
            for name, use in session.snapshot.use.items()
            if name in self._queues or ROOT_QUEUE in self._queues  # root owns pods without a queue
        )
        return total - max(0, used - inside - terminating)
