"""The inqueue time-out: enqueued pod groups that cannot be placed return to Pending.

An Inqueue group claims its minResources, whether it can run or not. Without a time-out, a group
whose pods fit on no node would block other groups for ever. After `INQUEUE_SECONDS` in which its
gang does not fit, the group returns to Pending. It stays Pending until its gang fits or
`REST_SECONDS` have passed.

The time is counted from the condition `Unschedulable`, whose transition time is renewed with each
phase (`model/pod_group_status.py`), so a restart of the scheduler does not change it. The rest of a
group that this process returned to Pending does not depend on its status
(`cache/overlays/enqueued.py`). Groups without minResources claim nothing and are not affected.
Groups with pods on nodes or with a nomination are not affected either.
"""

from typing import Final

from vc.messages.sessions import Reason
from vc.model.api.scheduling import PodGroupCondition, PodGroupStatus
from vc.scheduling.cache.overlays.enqueued import REST_SECONDS
from vc.scheduling.model.pod_group_status import INQUEUE_TIMEOUT, UNSCHEDULABLE, read_time
from vc.scheduling.model.rows import INQUEUE, GroupRow
from vc.scheduling.placement.gang import try_minimum
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement

INQUEUE_SECONDS: Final = 300.0


def send_back(session: Session) -> None:
    """Return groups whose time is over to Pending, and register wake-ups for the others."""
    for group in session.snapshot.groups:
        if session.phase(group) != INQUEUE or group.key in session.refused:
            continue
        if not group.min_resources or group.placed or not session.starving(group):
            continue
        said = _unschedulable(group)
        if said is None or group.key in session.snapshot.evictions.nominated:
            continue
        over_at = _since(session, group, said) + INQUEUE_SECONDS
        if session.now < over_at:
            session.wake(over_at)
            continue
        # The time-out alone is not enough: a gang that fits now keeps its claim, and allocate
        # places it.
        why = _misfit(session, group)
        if why is not None:
            session.send_back(group, reasons.inqueue_timeout(INQUEUE_SECONDS, why))


def withdraw_unfounded(session: Session) -> None:
    """Treat Inqueue groups that this process did not enqueue as Pending.

    Another client, or an earlier leader, wrote that phase, so it is no proof that the queue had
    enough resources. Such a group claims nothing until this session enqueues it. Groups with pods
    on nodes or with a nomination keep their phase, because resources are in use or reserved for
    them.
    """
    for group in session.snapshot.groups:
        if session.phase(group) != INQUEUE or group.enqueued_at is not None or group.placed:
            continue
        if group.key not in session.snapshot.evictions.nominated:
            session.withdraw(group)


def _since(session: Session, group: GroupRow, said: PodGroupCondition) -> float:
    """When the condition began, bounded by the session's time and by the age of the group's claim.

    A status that is written again and again, or with a future time, must not extend the time-out.
    """
    since = min(read_time(said.last_transition_time), session.now)
    if group.enqueued_at is None:
        return since
    return min(since, group.enqueued_at + INQUEUE_SECONDS)


def wake_for_timeout(session: Session, group: GroupRow, status: PodGroupStatus) -> None:
    """Register a wake-up for the end of the time-out that a status about to be written starts.

    For a status that returns a group to Pending no wake-up is needed: a session follows in any
    case, and it registers the end of the rest.
    """
    said = _unschedulable_in(status)
    if said is not None and group.min_resources and status.phase == INQUEUE:
        session.wake(read_time(said.last_transition_time) + INQUEUE_SECONDS)


def rests(session: Session, group: GroupRow) -> Reason | None:
    """Why a timed-out group must stay Pending; None when it may be enqueued.

    As long as its gang does not fit, the group would only claim its resources again without using
    them.
    """
    since = _rests_since(session, group)
    if since is None:
        return None
    over_at = since + REST_SECONDS
    why = _misfit(session, group) if session.now < over_at else None
    if why is None:
        return None
    session.wake(over_at)
    return reasons.inqueue_timeout(INQUEUE_SECONDS, why)


def _rests_since(session: Session, group: GroupRow) -> float | None:
    """When it went back, as this process knows; of what a predecessor sent back, as the status says."""
    if group.timed_out_at is not None:
        return group.timed_out_at
    said = _unschedulable(group)
    if said is None or said.reason != INQUEUE_TIMEOUT:
        return None
    return min(read_time(said.last_transition_time), session.now)


def _misfit(session: Session, group: GroupRow) -> Reason | None:
    """Why the gang does not fit on nodes now; None when it fits. The session is not changed."""
    missing = session.framework.jobs.missing(group)
    if not group.runs:
        needed = sum(count for _, count in missing)
        return reasons.not_enough_pods(group, task="", has=group.valid, least=needed)
    statement = Statement(session, group)
    why = try_minimum(session, group, missing, statement)
    statement.discard()
    return why


def _unschedulable(group: GroupRow) -> PodGroupCondition | None:
    """The condition Unschedulable of the group, if it is True."""
    return _unschedulable_in(group.status)


def _unschedulable_in(status: PodGroupStatus) -> PodGroupCondition | None:
    """The condition Unschedulable of a status, if it is True."""
    for condition in status.conditions:
        if condition.type == UNSCHEDULABLE and condition.status == "True":
            return condition
    return None
