"""backfill: place best-effort pods, which request no resources, on any node that predicates allow.

A gang of best-effort pods is bound as a whole or not at all.
"""

from vc.scheduling.actions.eligible import eligible
from vc.scheduling.actions.job_order import JobOrder
from vc.scheduling.model.rows import GroupRow, Run
from vc.scheduling.placement.gang import place_minimum, place_more
from vc.scheduling.placement.shortages import with_other_tasks
from vc.scheduling.session.fifo import keep_fifo_order
from vc.scheduling.session.session import Session


def backfill(session: Session) -> None:
    """Place the best-effort pods of enqueued jobs that were not refused."""
    groups = eligible(session)
    # This refuses starving jobs that would overtake a waiting job of a FIFO queue. A job that has
    # its minimum is not refused: its further best-effort pods request nothing that the waiting job
    # needs.
    keep_fifo_order(session, groups, after_turns=True)
    waiting = [group for group in groups if group.key not in session.refused]
    turns = JobOrder(session, [group for group in waiting if _best_effort(group)])
    while (group := turns.next()) is not None:
        _place(session, group)
        turns.done(group)


def _place(session: Session, group: GroupRow) -> None:
    """Bind the missing minimum of the group, then its other best-effort pods."""
    if session.starving(group):
        missing = session.framework.jobs.missing(group)
        reason = place_minimum(session, group, missing)
        if reason is not None:
            session.refuse(group, with_other_tasks(session, group, missing, reason))
            return
    place_more(session, group, _best_effort(group), pods_max=group.pending)


def _best_effort(group: GroupRow) -> tuple[Run, ...]:
    """The runs of the group that are best-effort."""
    return tuple(run for run in group.runs if run.shape.best_effort)
