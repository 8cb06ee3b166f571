"""Rules of reclaim: which queue may reclaim, and from which queue.

`AllResourcesRule` is the rule of proportion and of hierarchical drf. With the job included, the claimant queue
and each of its ancestors below the common ancestor stay within their deserved share of all
resources that the job requests. A victim queue has more than its deserved share of some needed
resource.

`OneResourceRule` is the rule of capacity (docs/behaviour.md 5.7). One resource within the deserved share is
enough for the claimant. A queue is a victim queue while it exceeds its deserved share of any
resource that the victim uses. A queue deserves nothing of resources that it does not list, so pods
that use only those can always be evicted.

`actions/reclaim` checks what all rules share: whether a queue is reclaimable, and that it keeps its
guarantee.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vc.scheduling.framework.queue_points import Ancestors, DeservedShares, ReclaimRule
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import QueueRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


def reclaim_rule(
    shares: DeservedShares, session: "Session", queue: str, needed: Amounts
) -> ReclaimRule:
    """Return the rule of the plugin that defines the deserved shares."""
    own = session.framework.queues.reclaim
    if own is not None:
        return own.queue_reclaim_rule(session, queue, needed)
    return AllResourcesRule(session, shares.deserved_shares(session), queue, needed)


class AllResourcesRule:
    """The queue and its ancestors deserve every resource that the job needs."""

    def __init__(
        self, session: "Session", deserved: Mapping[str, Amounts], queue: str, needed: Amounts
    ) -> None:
        self._session = session
        self._deserved = deserved
        self._needed = needed
        self._ancestors = session.accounts.ancestors(queue)
        self._within = {row.name: self._deserves(row) for row in self._ancestors}

    def _deserves(self, row: QueueRow) -> bool:
        fair, has = self._deserved.get(row.name, {}), self._session.accounts.allocated(row.name)
        # An ancestor without a deserved share does not forbid reclaim; the claimant itself needs one.
        if not fair:
            return row is not self._ancestors[0]
        # Resources without a deserved amount are not compared, but one must be: a queue cannot
        # reclaim only resources for which it deserves nothing.
        named = [name for name in self._needed if name in fair]
        return bool(named) and all(has.get(n, 0) + self._needed[n] <= fair[n] for n in named)

    def may_reclaim(self) -> bool:
        return bool(self._ancestors) and self._within[self._ancestors[0].name]

    def may_reclaim_from(self, victim: Ancestors) -> bool:
        # Amounts of common ancestors are the same before and after, so their shares do not matter.
        shared = {row.name: None for row in victim}
        return all(within for name, within in self._within.items() if name not in shared)

    def permits(self, rows: Ancestors, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """Each queue has more than it deserves of some resource that is freed and needed."""
        # Freeing a resource that the job does not need would evict without any benefit.
        useful = [name for name in freed if name in self._needed]
        return all(self._exceeds(row, has[row.name], useful) for row in rows)

    def _exceeds(self, row: QueueRow, has: Amounts, names: Sequence[str]) -> bool:
        fair = self._deserved.get(row.name, {})
        return any(has.get(name, 0) > tolerated(row, fair.get(name, 0)) for name in names)

    def proximity(self, victim: Ancestors) -> int:
        """Return 0: this rule treats all victim queues as equally close."""
        del victim
        return 0

    def surplus(self, row: QueueRow) -> Amounts:
        """Return what the queue has beyond its deserved share and its guarantee."""
        fair, least = self._deserved.get(row.name, {}), dict(row.guarantee)
        return {
            name: max(0, amount - max(fair.get(name, 0), least.get(name, 0)))
            for name, amount in self._session.accounts.allocated(row.name).items()
        }

    def claimable(self, surplus: Amounts) -> Amounts:
        """Limit `surplus` to what the claimant deserves and has not committed yet."""
        # Enqueued amounts count as well: several groups must not be enqueued for the same share.
        queue = self._ancestors[0].name
        fair, taken = self._deserved.get(queue, {}), self._session.accounts.committed(queue)
        return {
            name: min(amount, max(0, fair.get(name, 0) - taken.get(name, 0)))
            for name, amount in surplus.items()
        }


class OneResourceRule:
    """One resource within the deserved share of the queue is enough.

    With `level` above 0, the deserved share of one of that many ancestors is enough, too.
    """

    def __init__(
        self,
        session: "Session",
        deserved: Mapping[str, Amounts],
        queue: str,
        needed: Amounts,
        *,
        level: int,
        flat: bool,
    ) -> None:
        self._session = session
        self._deserved = deserved
        self._needed = needed
        self._flat = flat
        self._level = 0 if flat else level
        self._ancestors = session.accounts.ancestors(queue)[: 1 if flat else None]

    def may_reclaim(self) -> bool:
        return any(
            self._deserves_one(row, self._session.accounts.allocated(row.name))
            for row in self._claimants()
        )

    def _claimants(self) -> Ancestors:
        """Return the claimant and the ancestors of which one must deserve a needed resource."""
        return self._ancestors[: 1 + self._level]

    def _deserves_one(self, row: QueueRow, has: Amounts) -> bool:
        fair = self._deserved.get(row.name, {})
        return any(
            name in fair and has.get(name, 0) + amount <= fair[name]
            for name, amount in self._needed.items()
        )

    def may_reclaim_from(self, victim: Ancestors) -> bool:
        """Return True: this rule does not depend on the ancestors of the victim queue."""
        del victim
        return True

    def permits(self, rows: Ancestors, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """The victim queue exceeds its share, and the victim frees a needed resource.

        With `level` above 0, each ancestor of the victim queue must exceed its share, too.
        """
        # A victim that frees nothing of what is needed would be evicted for nothing.
        if not any(name in self._needed for name in freed):
            return False
        checked = rows if self._level else rows[:1]
        return all(self._exceeds(row, has[row.name], freed) for row in checked)

    def _exceeds(self, row: QueueRow, has: Amounts, freed: Amounts) -> bool:
        """Whether the queue exceeds its share of a freed resource, or lists none of the freed ones."""
        fair = self._deserved.get(row.name, {})
        listed = [name for name in freed if name in fair]
        return not listed or any(has.get(n, 0) > tolerated(row, fair[n]) for n in listed)

    def proximity(self, victim: Ancestors) -> int:
        """Return the number of common ancestors."""
        shared = {row.name: None for row in self._ancestors}
        return 0 if self._flat else sum(row.name in shared for row in victim)

    def surplus(self, row: QueueRow) -> Amounts:
        """Return what the queue has beyond its deserved share.

        The deserved share of a resource is not kept when the queue exceeds another one: a pod may
        then be evicted for that resource and frees this one with it.
        """
        fair, least = self._deserved.get(row.name, {}), dict(row.guarantee)
        has = self._session.accounts.allocated(row.name)
        over = [name for name, amount in fair.items() if has.get(name, 0) > tolerated(row, amount)]
        found: Amounts = {}
        for name, amount in has.items():
            kept = 0 if any(other != name for other in over) else fair.get(name, 0)
            found[name] = max(0, amount - max(kept, least.get(name, 0)))
        return found

    def claimable(self, surplus: Amounts) -> Amounts:
        """Return all of `surplus`, or nothing when the claimant deserves no needed resource."""
        may = any(
            self._deserves_one(row, self._session.accounts.committed(row.name))
            for row in self._claimants()
        )
        return surplus if may else {}


def tolerated(row: QueueRow, fair: int) -> int:
    """Return the amount a queue may have before it exceeds its share."""
    return fair * (1000 + row.tolerance) // 1000
