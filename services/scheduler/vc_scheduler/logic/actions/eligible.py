"""Which jobs an action may place: let in, not refused before, and possible at all."""

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.rows import PENDING, GroupRow
from vc_scheduler.logic.session import Session


def eligible(session: Session) -> list[GroupRow]:
    """Jobs to be tried; a starving one that cannot be tried gets its reason here."""
    jobs: list[GroupRow] = []
    for group in session.snapshot.groups:
        if session.phase(group) == PENDING or group.key in session.refused:
            continue
        reason = _refusal(session, group) if session.starving(group) else None
        if reason is not None:
            session.refuse(group, reason)
        elif group.runs:
            jobs.append(group)
    return jobs


def _refusal(session: Session, group: GroupRow) -> Reason | None:
    for gate in session.framework.job_gates:
        reason = gate.refuse_job(session, group)
        if reason is not None:
            return reason
    if group.runs:
        return None
    needed = sum(count for _, count in session.framework.missing(group))
    return reasons.not_placeable_yet(group, needed=needed, lacking=needed)
