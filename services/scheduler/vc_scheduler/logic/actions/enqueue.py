"""enqueue: pod groups Pending → Inqueue, so that their pods may be created and placed.

A rejected job is passed over and the next of its queue is tried, unless the queue is fifo. A job that
was let in and found no room in time goes back first (`inqueue.py`). One that says Inqueue and was not
enqueued by this process (`cache/let_in.py`) is decided about like any that is Pending.
"""

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.actions.turns import Turns
from vc_scheduler.logic.inqueue import rests, send_back, withdraw_unfounded
from vc_scheduler.logic.rows import PENDING, GroupRow
from vc_scheduler.logic.session import Session


def enqueue(session: Session) -> None:
    """Let in what the gates permit, after those that found no room in time have left."""
    send_back(session)
    withdraw_unfounded(session)
    pending = [
        group
        for group in session.snapshot.groups
        if session.phase(group) == PENDING and group.key not in session.refused
    ]
    turns = Turns(session, pending)
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
    """The first gate that says no; a group without minResources is always let in."""
    if group.min_resources is None:
        return None
    return rests(session, group) or session.framework.voters.refuse_enqueue(session, group)
