"""Future idle resources: what is free as soon as terminating pods are gone.

A gang that does not fit now but fits then reserves these resources for the rest of the session, so
that later jobs do not use them pod by pod. The reservation is not stored: each session makes it
again from the terminating pods of its snapshot.
"""

from vc.scheduling.model.nominations import incomplete_nomination
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.placement.gang import Missing, question_of, try_minimum
from vc.scheduling.placement.nominated_nodes import put_freed
from vc.scheduling.placement.simulated_removal import (
    could_help,
    feasibility_without,
    terminating_pods,
)
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement


def reserve_future_idle(session: Session, group: GroupRow, missing: Missing) -> bool:
    """Reserve future idle resources for the gang; return whether all of it has a reservation.

    Where plugins vote for it, or where a nomination is incomplete, a gang that does not fit as a
    whole gets a partial reservation. The result is False then.
    """
    if group.key in session.promised_to:  # reserved before; it waits for victims or volume claims
        return True
    if session.framework.jobs.job_pipelined(session, group, whole=False):
        hold_part(session, group, missing)
        return False
    if _hold_whole(session, group, missing):
        return True
    if incomplete_nomination(group, session.snapshot.evictions.nominated) is not None:
        hold_part(session, group, missing)
    return False


def _hold_whole(session: Session, group: GroupRow, missing: Missing) -> bool:
    """Reserve nodes for the whole gang as if terminating pods were gone; return whether it fits."""
    if not session.snapshot.terminating_pods:
        return False
    # The bound is computed once per session. Placements after that only lower the real capacity, so
    # it stays an upper bound.
    if session.future is None:
        session.future = feasibility_without(session, [])
    asked = question_of(session, group, missing)
    if asked in session.no_future or not could_help(session, group, missing, session.future):
        return False
    away = terminating_pods(session, victims=False)
    away.go()
    statement = Statement(session, group)
    fits = try_minimum(session, group, missing, statement) is None
    # A plugin can reject the reservation with its JobPipelined vote.
    if fits and not session.framework.jobs.job_pipelined(session, group, whole=True):
        statement.discard()
        fits = False
    if fits:
        statement.reserve()
        promise(session, group, evicted=0)
    away.back(kept=fits)
    if not fits:
        # Equal gangs would fail too as long as node capacity is unchanged.
        session.no_future[asked] = None
    return fits


def hold_part(session: Session, group: GroupRow, missing: Missing) -> None:
    """Reserve free resources for a part of the job, so that later jobs do not use them.

    For an incomplete nomination these are the resources that the evicted victims freed.
    """
    statement = Statement(session, group)
    nominated = incomplete_nomination(group, session.snapshot.evictions.nominated)
    if nominated is not None:
        if put_freed(session, group, nominated, statement):
            session.parts[group.key] = statement.hold()
        return
    for task, count in missing:
        left = count
        for run in [run for run in group.runs if task in (None, run.task)]:
            fitting = session.node_capacity.placeable(
                run.shape, min(left, len(session.waiting_pods(run)))
            )
            rows = session.node_capacity.place(run.shape, fitting) if fitting else None
            if rows is not None:
                statement.allocate(run, rows)
                left -= fitting
    session.parts[group.key] = statement.hold()


def give_up_part(session: Session, group: GroupRow) -> bool:
    """Give up the job's partial reservation, to try the whole job; return whether it had one."""
    give_up = session.parts.pop(group.key, None)
    if give_up is not None:
        give_up()
    return give_up is not None


def promise(session: Session, group: GroupRow, *, evicted: int) -> None:
    """Record that the group has a reservation and waits for victims.

    No later action tries it again.
    """
    # The message counts the group's own victims, or those of other groups if it has none.
    victims = evicted or len(session.evicted_uids)
    reason = reasons.waiting_for_victims(
        leaving=len(session.snapshot.terminating_pods) + victims, evicted=evicted
    )
    session.promised_to[group.key] = reason
    session.refuse(group, reason)
