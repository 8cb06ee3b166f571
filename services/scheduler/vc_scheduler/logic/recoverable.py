"""What evictions could give a job that is not let in yet.

Without this a full cluster lets nobody in, so nobody starves, so nothing is ever reclaimed: enqueue
would switch preempt and reclaim off. Amounts are upper bounds; the actions try the real thing.
"""

from typing import TYPE_CHECKING

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.rows import GroupRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


def preemptable(session: "Session", group: GroupRow) -> Amounts:
    """What jobs of lower priority in the same queue have; nothing when preempt is off."""
    if "preempt" not in session.framework.actions:
        return {}
    return session.lower_in_queue(group.queue, session.priority(group))


def reclaimable(session: "Session", group: GroupRow) -> Amounts:
    """What others have beyond their share, as far as this queue is below its own."""
    shares = session.framework.shares
    if "reclaim" not in session.framework.actions or shares is None:
        return {}
    deserved = shares.deserved(session)
    mine, total = deserved.get(group.queue, {}), Amounts()
    line = [row.name for row in session.line(group.queue)]
    for name, row in session.snapshot.queues.items():
        if name in line or not row.reclaimable or name not in session.snapshot.use:
            continue
        fair = deserved.get(name, {})
        for resource, amount in session.allocated(name).items():
            kept = max(fair.get(resource, 0), dict(row.guarantee).get(resource, 0))
            total[resource] = total.get(resource, 0) + max(0, amount - kept)
    taken = session.committed(group.queue)
    return {
        resource: min(amount, max(0, mine.get(resource, 0) - taken.get(resource, 0)))
        for resource, amount in total.items()
    }
