"""What a group that is let in may hold back from others."""

from typing import TYPE_CHECKING

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.rows import GroupRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


def bounded_claim(session: "Session", group: GroupRow) -> Amounts:
    """Its minResources; nothing where it asks for more than the cluster has or its queues may have, because
    that never runs."""
    line = session.line(group.queue)
    for name, amount in group.charged_minimum.items():
        limits = [dict(queue.capability).get(name) for queue in line]
        bounds = [limit for limit in limits if limit is not None]
        if amount > min([session.cluster_amounts(name)[0], *bounds]):
            return {}
    return dict(group.min_resources or ())
