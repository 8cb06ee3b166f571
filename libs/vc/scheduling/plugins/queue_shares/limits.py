"""Limits of queues for proportion and capacity: capability, and guarantees of sibling queues."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vc.messages.sessions import Reason
from vc.model.values.resources import Resources
from vc.scheduling.framework.queue_points import Ancestors
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import GroupRow, QueueRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.plugins.queue_shares.recoverable import preemptable
from vc.scheduling.session import reasons
from vc.scheduling.session.guarantees import Guarantees

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class QueueLimits:
    """Checks an amount against a queue and its ancestors."""

    def __init__(self, limits: Mapping[str, Amounts], *, flat: bool = False) -> None:
        self._limits = limits
        self._flat = flat

    def _ancestors(self, session: "Session", queue: str) -> list[QueueRow]:
        """Return the queue and its ancestors; without hierarchy only the queue."""
        return session.accounts.ancestors(queue)[: 1 if self._flat else None]

    def enqueue_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """Refuse a group whose minResources do not fit beside what the queue has committed.

        Committed are the allocated and enqueued amounts, without surplus pods.

        Amounts of jobs with lower priority in the same queue count as available, because preempt
        can free them.
        """
        needed = group.charged_minimum
        ancestors = self._ancestors(session, group.queue)
        taken = {row.name: session.accounts.committed(row.name) for row in ancestors}
        if self._fits(ancestors, needed, taken):
            return None
        freed = preemptable(session, group)
        # The second check ignores preemptable amounts. A job that may preempt must be enqueued
        # first, or preempt would never see it.
        lower = {
            name: Resources(amounts) - Resources(freed).only(amounts)
            for name, amounts in taken.items()
        }
        if self._fits(ancestors, needed, lower):
            return None
        return self._reason(ancestors, needed, taken)

    def pods_refusal(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        """Refuse `count` pods that do not fit beside the allocated amounts."""
        needed = {name: amount * count for name, amount in shape.request}
        ancestors = self._ancestors(session, group.queue)
        taken = {row.name: session.accounts.allocated(row.name) for row in ancestors}
        if not self._fits(ancestors, needed, taken):
            return self._reason(ancestors, needed, taken)
        return session.cached(Guarantees).refuse(group.queue, needed)

    def _fits(self, ancestors: Ancestors, needed: Amounts, taken: Mapping[str, Amounts]) -> bool:
        """Whether the queue and all its ancestors have the needed amounts left."""
        return not any(_over(needed, self._left(row, taken)) for row in ancestors)

    def _left(self, row: QueueRow, taken: Mapping[str, Amounts]) -> Amounts:
        has = taken[row.name]
        return {name: most - has.get(name, 0) for name, most in self._limits[row.name].items()}

    def _reason(
        self, ancestors: Ancestors, needed: Amounts, taken: Mapping[str, Amounts]
    ) -> Reason:
        """Name the queue whose capability must be raised: the queue itself or an ancestor.

        The limit of a queue is not only its capability: guarantees of other queues may reduce it.
        """
        # A capability that is exceeded by itself is reported first: raising it is the direct
        # remedy.
        for row in ancestors:
            has = taken[row.name]
            own = {name: most - has.get(name, 0) for name, most in row.capability}
            if _over(needed, own):
                return reasons.over_capability(row.name, needed, own)
        # Otherwise guarantees reduce the limit. The nearest ancestor whose capability sets the
        # limit can be raised; with none of them the cluster itself is the limit.
        for at, row in enumerate(ancestors):
            for name, left in self._left(row, taken).items():
                if name in needed and needed[name] > left:
                    above = [r.name for r in ancestors[at + 1 :] if self._binds(r, name)]
                    return reasons.guaranteed(
                        above[0] if above else "", name, needed=needed[name], available=left
                    )
        raise AssertionError("no limit of the queue or its ancestors is exceeded")

    def _binds(self, row: QueueRow, resource: str) -> bool:
        """Whether the queue's own capability is its limit; ancestors may set a lower one."""
        most = dict(row.capability).get(resource)
        return most is not None and most == self._limits[row.name].get(resource)


def _over(needed: Amounts, available: Amounts) -> bool:
    return any(name in available and amount > available[name] for name, amount in needed.items())
