"""Why pods beyond the minimum of a gang wait: the job runs, and these would be more of it."""

import msgspec

from vc_messages.sessions import Reason
from vc_scheduler.logic.placing import why_no_room
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session


def surplus_reason(session: Session, group: GroupRow) -> Reason | None:
    """Of the first task that has such pods and no place for one more; None when there is a place.

    Called off the hot path, on a session in which nothing was decided.
    """
    waiting = sum(len(run.pods) for run in group.runs)
    if not waiting or session.framework.missing(group):
        return None
    queue = session.snapshot.queues.get(group.queue)
    turn = session.framework.voters.refuse_turn(session, queue) if queue is not None else None
    for run in group.runs:
        found = turn or why_no_room(session, group, [(run.role, 1)])
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
