"""enqueue: move pod groups from Pending to Inqueue, so that their pods may be created and placed.

If a job is rejected, the next job of its queue is tried, unless the queue is FIFO. Before that,
groups that stayed Inqueue for too long without being placed return to Pending
(`actions/inqueue_timeout.py`). A group with phase Inqueue that this process did not enqueue
(`cache/overlays/enqueued.py`) is treated as Pending.
"""

from vc.messages.sessions import Reason
from vc.scheduling.actions.inqueue_timeout import rests, send_back, withdraw_unfounded
from vc.scheduling.actions.job_order import JobOrder
from vc.scheduling.model.rows import PENDING, GroupRow
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session


def enqueue(session: Session) -> None:
    """Enqueue the groups that the plugins permit, after timed-out groups are Pending again."""
    # Timed-out groups are withdrawn first, so that the resources they claimed are free for others.
    send_back(session)
    withdraw_unfounded(session)
    pending = [
        group
        for group in session.snapshot.groups
        if session.phase(group) == PENDING and group.key not in session.refused
    ]
    turns = JobOrder(session, pending)
    while (group := turns.next()) is not None:
        reason = _refusal(session, group)
        if reason is None:
            session.enqueue(group)
        else:
            session.refuse(group, reason)
            for behind in turns.blocked(group):
                session.refuse(behind, reasons.behind(group))
        turns.done(group)


def _refusal(session: Session, group: GroupRow) -> Reason | None:
    """Why the group is not enqueued.

    A group without minResources claims nothing and is always enqueued.
    """
    if group.min_resources is None:
        return None
    return rests(session, group) or session.framework.jobs.job_enqueueable_refusal(session, group)
