"""backfill: best-effort pods, which ask for nothing but a place, go wherever they may.

Gangs count here too: a gang of best-effort pods is bound whole or not at all.
"""

from vc_scheduler.logic.actions.eligible import eligible
from vc_scheduler.logic.actions.turns import Turns
from vc_scheduler.logic.in_line import keep_in_line
from vc_scheduler.logic.placing import place_minimum, place_more
from vc_scheduler.logic.rows import GroupRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shortages import with_other_tasks


def backfill(session: Session) -> None:
    """Place best-effort pods of jobs that are let in and were not refused."""
    groups = eligible(session)
    keep_in_line(session, groups)
    waiting = [group for group in groups if group.key not in session.refused]
    turns = Turns(session, [group for group in waiting if _best_effort(group)])
    while (group := turns.next()) is not None:
        _place(session, group)
        turns.done(group)


def _place(session: Session, group: GroupRow) -> None:
    if session.starving(group):
        missing = session.framework.missing(group)
        reason = place_minimum(session, group, missing)
        if reason is not None:
            session.refuse(group, with_other_tasks(session, group, missing, reason))
            return
    place_more(session, group, _best_effort(group), pods_max=group.pending)


def _best_effort(group: GroupRow) -> tuple[Run, ...]:
    return tuple(run for run in group.runs if run.shape.best_effort)
