"""Future idle resources: what is free as soon as terminating pods are gone.

A gang that does not fit now but fits then reserves these resources for the rest of the session, so
that later jobs do not use them pod by pod. The reservation is not stored: each session makes it
again from the terminating pods of its snapshot.
"""

from vc.scheduling.model.nominations import incomplete_nomination
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.placement.gang import Missing, placement_key, try_minimum
from vc.scheduling.placement.simulated_removal import (
    could_help,
    feasibility_without,
    terminating_pods,
)
from vc.scheduling.reservations.nominated_nodes import place_on_freed
from vc.scheduling.session import reasons
from vc.scheduling.session.feasibility import FeasibilityBound
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement


class FutureIdle:
    """What is known in one session about placements after terminating pods are gone."""

    def __init__(self, session: Session) -> None:
        self._failed: dict[tuple[object, ...], None] = {}
        self.bound: FeasibilityBound = feasibility_without(session, [])
        """The feasibility bound with all terminating pods gone. Placements after its creation only
        lower the real capacity, so it stays an upper bound."""

    def failed(self, key: tuple[object, ...]) -> bool:
        """Whether an equal gang did not fit in the same state of node capacity."""
        return key in self._failed

    def note_failure(self, key: tuple[object, ...]) -> None:
        """Record that a gang does not fit even after terminating pods are gone."""
        self._failed[key] = None


def reserve_future_idle(session: Session, group: GroupRow, missing: Missing) -> bool:
    """Reserve future idle resources for the gang; return whether all of it has a reservation.

    Where plugins vote for it, or where a nomination is incomplete, a gang that does not fit as a
    whole gets a partial reservation. The result is False then.
    """
    if group.key in session.reservations.waiting:  # it waits for victims or volume claims
        return True
    if session.framework.jobs.job_pipelined(session, group, whole=False):
        reserve_part(session, group, missing)
        return False
    if _reserve_whole(session, group, missing):
        return True
    if incomplete_nomination(group, session.snapshot.evictions.nominated) is not None:
        reserve_part(session, group, missing)
    return False


def _reserve_whole(session: Session, group: GroupRow, missing: Missing) -> bool:
    """Reserve nodes for the whole gang as if terminating pods were gone; return whether it fits."""
    if not session.snapshot.terminating_pods:
        return False
    future, asked = session.cached(FutureIdle), placement_key(session, group, missing)
    # Many equal gangs wait for the same terminating pods, and each attempt removes all of these.
    if future.failed(asked) or not could_help(session, group, missing, future.bound):
        return False
    terminating = terminating_pods(session, victims=False)
    terminating.remove()
    # The whole gang is placed, as it will be bound later. A part would keep resources from others
    # for a gang that may never start.
    statement = Statement(session, group)
    fits = try_minimum(session, group, missing, statement) is None
    # A plugin can reject the reservation with its JobPipelined vote.
    if fits and not session.framework.jobs.job_pipelined(session, group, whole=True):
        statement.discard()
        fits = False
    if fits:
        statement.reserve()
        wait_for_terminating(session, group, evicted=0)
    terminating.restore(kept=fits)
    if not fits:
        future.note_failure(asked)
    return fits


def reserve_part(session: Session, group: GroupRow, missing: Missing) -> None:
    """Reserve free resources for a part of the job, so that later jobs do not use them.

    For an incomplete nomination these are the resources that the evicted victims freed.
    """
    statement = Statement(session, group)
    nominated = incomplete_nomination(group, session.snapshot.evictions.nominated)
    if nominated is not None:
        if place_on_freed(session, group, nominated, statement):
            session.reservations.keep_partial(group, statement.reserve_revocably())
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
    session.reservations.keep_partial(group, statement.reserve_revocably())


def wait_for_terminating(session: Session, group: GroupRow, *, evicted: int) -> None:
    """Record that the group has a reservation and waits for victims.

    No later action tries it again.
    """
    # The message counts the group's own victims, or those of other groups if it has none.
    victims = evicted or len(session.decided.evicted_uids)
    reason = reasons.waiting_for_victims(
        terminating=len(session.snapshot.terminating_pods) + victims, evicted=evicted
    )
    session.reservations.wait(group, reason)
    session.refuse(group, reason)
