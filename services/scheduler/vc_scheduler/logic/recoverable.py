"""What evictions could give a job that is not let in yet.

Without this a full cluster lets nobody in, so nobody starves, so nothing is ever reclaimed: enqueue
would switch preempt and reclaim off. Amounts are upper bounds; the actions try the real thing.
"""

from typing import TYPE_CHECKING

from vc_scheduler.logic.amounts import NOT_REQUESTED, Amounts
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.taking_back import taking_back

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


def preemptable(session: "Session", group: GroupRow) -> Amounts:
    """What jobs of lower priority in the same queue have; nothing when preempt is off."""
    if "preempt" not in session.framework.actions:
        return {}
    return session.lower_in_queue(group.queue, session.priority(group))


def reclaimable(session: "Session", group: GroupRow) -> Amounts:
    """What others have beyond their share, as far as this queue may take it back."""
    shares = session.framework.shares
    if "reclaim" not in session.framework.actions or shares is None:
        return {}
    needed = {name: n for name, n in group.min_resources or () if name not in NOT_REQUESTED}
    rule = taking_back(shares, session, group.queue, needed)
    line = [row.name for row in session.line(group.queue)]
    total: Amounts = {}
    for name, row in session.snapshot.queues.items():
        if name in line or not row.reclaimable or name not in session.snapshot.use:
            continue
        for resource, amount in rule.spare(row).items():
            total[resource] = total.get(resource, 0) + amount
    return rule.takes(total)
