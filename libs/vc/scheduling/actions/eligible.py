"""The jobs that an action may place: enqueued, not refused in this session, with pods to place."""

from vc.messages.sessions import Reason
from vc.scheduling.model.rows import PENDING, GroupRow
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session


def eligible(session: Session) -> list[GroupRow]:
    """Jobs that an action may place.

    A starving job that cannot be placed is refused here with a reason.
    """
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
    """Why a starving group cannot be placed: a plugin rejects it, or it has no placeable pods."""
    reason = session.framework.jobs.job_valid_refusal(session, group)
    if reason is not None or group.runs:
        return reason
    needed = sum(count for _, count in session.framework.jobs.missing(group))
    return reasons.not_placeable_yet(group, needed=needed, lacking=needed)
