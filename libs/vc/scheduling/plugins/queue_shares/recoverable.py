"""Upper bounds of what evictions could free for a job that is not enqueued yet.

Without them a full cluster would enqueue no job. Then no job would be starving, and preempt and
reclaim would never run. The actions simulate the actual evictions later.
"""

from typing import TYPE_CHECKING, Final

from vc.model.values.resources import Resources
from vc.scheduling.model.amounts import NOT_REQUESTED, Amounts
from vc.scheduling.model.rows import INQUEUE, RUNNING, GroupRow
from vc.scheduling.plugins.queue_shares.reclaim_rules import reclaim_rule
from vc.scheduling.session.enqueue_claim import claimed

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

UNBACKED_SECONDS: Final = 60.0
"""Seconds without a pod after which the claim of an Inqueue group is unbacked.

The pods of a job are normally created within seconds.
"""


def unbacked(session: "Session") -> dict[str, Resources]:
    """Return by namespace the claims of Inqueue groups that still have no pod after the time limit.

    ResourceQuotas limit pods and their priority classes. A group without pods is limited by
    neither, so a tenant could block capacity by creating groups. Such claims do not count against
    groups of other namespaces. They do count against groups of the same namespace; otherwise the
    next group without pods would claim the capacity at once.
    """
    found: dict[str, Resources] = {}
    for group in session.snapshot.all_groups.values():  # one whose minimum is 0 waits for nothing
        if group.valid or session.phase(group) not in (INQUEUE, RUNNING):
            continue
        claim = claimed(session, group)
        if not claim:
            continue
        since = session.now if group.claim_since is None else group.claim_since
        over_at = since + UNBACKED_SECONDS
        if session.now < over_at:
            session.wake(over_at)
            continue
        found.setdefault(group.namespace, Resources()).add(claim)
    return found


class LowerPriorityUse:
    """What jobs of lower priority use, by queue and priority; computed once per session."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._known: dict[tuple[str, int], Amounts] = {}

    def of(self, queue: str, priority: int) -> Amounts:
        """Resources of the jobs in the queue whose priority is lower."""
        known = self._known.get((queue, priority))
        if known is None:
            session = self._session
            known = self._known[queue, priority] = {}
            for group in session.snapshot.all_groups.values():
                if group.queue == queue and group.allocated and session.priority(group) < priority:
                    for name, amount in group.allocated:
                        known[name] = known.get(name, 0) + amount
        return known


def preemptable(session: "Session", group: GroupRow) -> Amounts:
    """Return what jobs of lower priority use in the same queue; nothing when preempt is off."""
    if "preempt" not in session.framework.actions:
        return {}
    return session.cached(LowerPriorityUse).of(group.queue, session.priority(group))


def reclaimable(session: "Session", group: GroupRow) -> Amounts:
    """Return what other queues have beyond their share, as far as this queue may reclaim it."""
    shares = session.framework.queues.shares
    if "reclaim" not in session.framework.actions or shares is None:
        return {}
    # The number of pods is no resource of queues.
    needed = {name: n for name, n in group.min_resources or () if name not in NOT_REQUESTED}
    rule = reclaim_rule(shares, session, group.queue, needed)
    ancestors = [row.name for row in session.accounts.ancestors(group.queue)]
    total = Resources()
    for name, row in session.snapshot.queues.items():
        # A queue without jobs of its own is skipped: its amounts are those of its descendants,
        # which are counted separately.
        if name in ancestors or not row.reclaimable or name not in session.snapshot.use:
            continue
        total.add(rule.surplus(row))
    return rule.claimable(total)
