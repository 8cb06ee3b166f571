"""Pod groups that were let in and found no room go back to Pending: their share is for others.

A group that is Inqueue has its minResources promised, whether it can run or not; one whose pods fit on no
node would keep others out for ever. After `INQUEUE_SECONDS` without room it goes back, and stays there
until its gang fits or `REST_SECONDS` have passed. Since when is read from the condition `Unschedulable`,
whose time starts anew with each phase (`phases.py`), so a restart changes nothing. Groups without
minResources hold nothing and are left alone, and so are those that have pods on nodes or a promise.
"""

from typing import Final

from vc_messages.sessions import Reason
from vc_model.scheduling import PodGroupCondition, PodGroupStatus
from vc_scheduler.logic import reasons
from vc_scheduler.logic.phases import UNSCHEDULABLE, read_time
from vc_scheduler.logic.placing import try_minimum
from vc_scheduler.logic.rows import INQUEUE, GroupRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement

INQUEUE_SECONDS: Final = 300.0
REST_SECONDS: Final = 300.0


def send_back(session: Session) -> None:
    """Groups whose time is over are Pending again; ask to be woken for the next one."""
    for group in session.snapshot.groups:
        if session.phase(group) != INQUEUE or group.key in session.refused:
            continue
        if not group.min_resources or group.placed or not session.starving(group):
            continue
        said = _unschedulable(group)
        if said is None or group.key in session.snapshot.nominated:
            continue
        over_at = _since(session, group, said) + INQUEUE_SECONDS
        if session.now < over_at:
            session.wake(over_at)
            continue
        why = _misfit(session, group)
        if why is not None:
            session.send_back(group, reasons.inqueue_timeout(INQUEUE_SECONDS, why))


def withdraw_unfounded(session: Session) -> None:
    """Groups that say Inqueue and that this process did not enqueue: nobody knows who wrote it.

    They count as Pending and claim nothing until a gate lets them in. Pods on nodes and room that was made
    by evictions are facts; groups that have them stay.
    """
    for group in session.snapshot.groups:
        if session.phase(group) != INQUEUE or group.let_in_at is not None or group.placed:
            continue
        if group.key not in session.snapshot.nominated:
            session.withdraw(group)


def _since(session: Session, group: GroupRow, said: PodGroupCondition) -> float:
    """When a condition began; times to come count as now, and none is later than the group's claim lasts."""
    since = min(read_time(said.last_transition_time), session.now)
    if group.let_in_at is None:
        return since
    return min(since, group.let_in_at + INQUEUE_SECONDS)


def wake_for_timeout(session: Session, group: GroupRow, status: PodGroupStatus) -> None:
    """A status that is about to be written starts the time that `send_back` looks at. One that sends a group back has
    another session follow, which asks for the end of its rest."""
    said = _unschedulable_in(status)
    if said is not None and group.min_resources and status.phase == INQUEUE:
        session.wake(read_time(said.last_transition_time) + INQUEUE_SECONDS)


def rests(session: Session, group: GroupRow) -> Reason | None:
    """Why it went back and has to stay there: it would only take its share again."""
    said = _unschedulable(group)
    if said is None or said.reason != reasons.INQUEUE_TIMEOUT:
        return None
    over_at = min(read_time(said.last_transition_time), session.now) + REST_SECONDS
    why = _misfit(session, group) if session.now < over_at else None
    if why is None:
        return None
    session.wake(over_at)
    return reasons.inqueue_timeout(INQUEUE_SECONDS, why)


def _misfit(session: Session, group: GroupRow) -> Reason | None:
    """Why its gang has no room now; None when it has."""
    missing = session.framework.missing(group)
    if not group.runs:
        needed = sum(count for _, count in missing)
        return reasons.not_enough_pods(group, role="", has=group.valid, least=needed)
    statement = Statement(session, group)
    why = try_minimum(session, group, missing, statement)
    statement.discard()
    return why


def _unschedulable(group: GroupRow) -> PodGroupCondition | None:
    return _unschedulable_in(group.status)


def _unschedulable_in(status: PodGroupStatus) -> PodGroupCondition | None:
    for condition in status.conditions:
        if condition.type == UNSCHEDULABLE and condition.status == "True":
            return condition
    return None
