"""allocate: place jobs in turn, each gang whole or not at all.

1. Jobs for which pods were evicted get or hold the room they were promised; then gangs that a crash
   left half bound are completed before anybody else gets the room.
2. Then queues and jobs without their minimum take turns. A job gets it in one statement, or
   room that pods which leave will free, or a reason.
3. When all minimums are placed that can be, queues and jobs take turns again for pods beyond them, a few pods at a
   time while others wait, so that shares grow side by side: drf is about that. A job that has just got its
   minimum waits a moment (`surplus.py`).
"""

from collections.abc import Mapping
from typing import Final

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.actions.eligible import eligible
from vc_scheduler.logic.actions.surplus import surplus_waits
from vc_scheduler.logic.actions.turns import Turns
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.future import give_up_part, hold_future_room
from vc_scheduler.logic.in_line import keep_in_line
from vc_scheduler.logic.nominations import promise_to
from vc_scheduler.logic.placing import place_minimum, place_more
from vc_scheduler.logic.promises import keep_promises
from vc_scheduler.logic.rows import PENDING, GroupRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shortages import with_other_tasks

ELASTIC_PODS_MAX: Final = 8
ELASTIC_PART: Final = 16
"""Pods beyond the minimum that a job places per turn while others wait: a sixteenth of those that wait,
at least one and at most eight. Small jobs share to the pod, and jobs of thousands have few turns."""


def allocate(session: Session) -> None:
    """Place what can be placed; without the action enqueue everybody is let in here."""
    if "enqueue" not in session.framework.actions:
        _let_in(session)
    everybody = eligible(session)
    groups = [group for group in everybody if _asking(group)]
    keep_promises(session, groups)
    begun = session.peers.claims.begun(groups)
    known = session.snapshot.nominated
    promised = {group.key: None for group in groups if promise_to(group, known) is not None}
    for first in (session.snapshot.partial_since, promised, begun):
        for preferred in _those(session, groups, first):
            if preferred.key not in session.refused:
                _place_gang(session, preferred)
    in_line = [group for group in keep_in_line(session, everybody) if _asking(group)]
    waiting = [group for group in in_line if group.key not in session.refused]
    first_refused = _place_minimums(session, [g for g in waiting if session.starving(g)])
    _place_surplus(session, [g for g in waiting if _may_grow(session, g, first_refused)])


def _place_minimums(session: Session, groups: list[GroupRow]) -> dict[str, OrderKey]:
    """In turn; by fifo queue, the place in its order of the first job that has to wait."""
    first_refused: dict[str, OrderKey] = {}
    turns = Turns(session, groups)
    while (group := turns.next()) is not None:
        if not _overused(session, group):
            key = session.framework.job_key(session, group)
            _place_gang(session, group)
            if group.key in session.refused and session.snapshot.queues[group.queue].fifo:
                first_refused.setdefault(group.queue, key)
            for behind in turns.blocked(group) if group.key in session.refused else ():
                session.refuse(behind, reasons.behind(group))
        turns.done(group)
    return first_refused


def _place_surplus(session: Session, groups: list[GroupRow]) -> None:
    """Pods beyond minimums, in turn."""
    turns = Turns(session, groups)
    while (group := turns.next()) is not None:
        placed = 0
        if not _overused(session, group):
            most = _ration(session, group) if turns.contested(group) else group.pending
            if session.framework.voters.rations:
                most = 1
            placed = place_more(session, group, _asking(group), pods_max=most)
        turns.done(group, again=placed > 0 and _has_more(session, group))


def _may_grow(session: Session, group: GroupRow, first_refused: Mapping[str, OrderKey]) -> bool:
    """Whether it has its minimum, passes no job of a fifo queue that waits, and need not wait itself."""
    if group.key in session.refused or session.starving(group) or not _has_more(session, group):
        return False
    first = first_refused.get(group.queue)
    if first is not None and session.framework.job_key(session, group) > first:
        return False
    return not surplus_waits(session, group)


def _overused(session: Session, group: GroupRow) -> bool:
    """Its queue gets no more turns."""
    queue = session.snapshot.queues[group.queue]
    reason = session.framework.voters.refuse_turn(session, queue)
    if reason is not None and session.starving(group):
        session.refuse(group, reason)
    return reason is not None


def _let_in(session: Session) -> None:
    for group in session.snapshot.groups:
        if session.phase(group) == PENDING and group.key not in session.refused:
            session.enqueue(group)


def _those(session: Session, groups: list[GroupRow], first: Mapping[str, object]) -> list[GroupRow]:
    """The groups that go first, in job order."""
    return sorted([g for g in groups if g.key in first], key=_Ordered(session).key)


class _Ordered:
    """Job order as a sorting key."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def key(self, group: GroupRow) -> tuple[object, ...]:
        return self._session.framework.job_key(self._session, group)


def _place_gang(session: Session, group: GroupRow) -> bool:
    """Try the minimum; whether it was bound."""
    if not session.starving(group):
        return False
    missing = session.framework.missing(group)
    give_up_part(session, group)  # held for it; what does not fit whole holds its part again
    reason: Reason | None = place_minimum(session, group, missing)
    if reason is not None and not hold_future_room(session, group, missing):
        session.refuse(group, with_other_tasks(session, group, missing, reason))
    return reason is None


def _ration(session: Session, group: GroupRow) -> int:
    waiting = sum(len(session.waiting_pods(run)) for run in _asking(group))
    return max(1, min(ELASTIC_PODS_MAX, waiting // ELASTIC_PART))


def _asking(group: GroupRow) -> tuple[Run, ...]:
    return tuple(run for run in group.runs if not run.shape.best_effort)


def _has_more(session: Session, group: GroupRow) -> bool:
    return any(session.waiting_pods(run) for run in _asking(group))
