"""Explains why surplus pods of a running gang wait."""

import msgspec

from vc.messages.sessions import Reason
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.placement.gang import why_no_fit
from vc.scheduling.session.session import Session


def surplus_reason(session: Session, group: GroupRow) -> Reason | None:
    """Return the reason of the first task whose surplus pods do not fit; None when one more fits.

    The function runs off the hot path, on a session without decisions.
    """
    waiting = sum(len(run.pods) for run in group.runs)
    if session.framework.jobs.missing(group):
        return None
    queue = session.snapshot.queues.get(group.queue)
    # An overused queue blocks all its jobs, so that reason comes before any check of nodes.
    turn = session.framework.queues.overused_refusal(session, queue) if queue is not None else None
    for run in group.runs:
        found = turn or why_no_fit(session, group, [(run.task, 1)])
        if found is not None:
            pods = "1 pod" if waiting == 1 else f"{waiting} pods"
            return msgspec.structs.replace(
                found,
                sentence=(
                    f"{pods} beyond the minimum of {group.min_member} "
                    f"{'waits' if waiting == 1 else 'wait'}: {found.sentence}"
                ),
                needed_pods=waiting,
            )
    return None
