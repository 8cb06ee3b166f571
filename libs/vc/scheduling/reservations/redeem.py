"""Redeem nominations: jobs for which pods were evicted get the resources that the victims free.

First, all nominated jobs are placed on their nominated nodes, with terminating pods removed,
because all reservations must hold at the same time. Then each job whose nodes are free already is
bound there. Each other job is bound on other nodes if it fits there now, and keeps its reservation
otherwise.

No other job gets the reserved resources by its share or its position before the nomination is
redeemed or has expired. Pods that were evicted for a job that does not run afterwards are worse
than a job out of order. Only a job of the same queue with a higher priority may take a reservation
over (`reservations/takeover.py`).
"""

from vc.scheduling.model.nominations import Nomination, nomination_of
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.placement.gang import place_minimum
from vc.scheduling.placement.simulated_removal import SimulatedRemoval, terminating_pods
from vc.scheduling.reservations.future_idle import reserve_part, wait_for_terminating
from vc.scheduling.reservations.nominated_nodes import place_on_freed, place_on_nominated
from vc.scheduling.reservations.takeover import OpenReservation, yield_to_higher
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement


def redeem_nominations(session: Session, groups: list[GroupRow]) -> None:
    """Bind the jobs whose nominated nodes are free, and reserve the nodes of the others.

    A job whose nomination cannot be used any more, for example because a node was deleted, is left
    to the following steps of allocate. A job with a victim that was not evicted reserves what the
    other victims freed, until the whole job fits or other victims are chosen.
    """
    known = session.snapshot.evictions.nominated
    found = [(group, nomination_of(group, known)) for group in groups]
    nominees = [(group, nominated) for group, nominated in found if nominated is not None]
    if not nominees:
        return
    terminating = terminating_pods(session, victims=False)
    whole = _place_all(session, nominees, terminating)
    parts = _place_parts(session, nominees, whole)
    # Jobs of higher priority take over while all reservations are placed: only then it is known
    # which of them stand in the way.
    held = yield_to_higher(session, groups, [*whole, *parts], terminating)
    # The reservations are withdrawn, so that each job can be bound on its own nodes.
    for entry in held:
        entry.statement.withdraw()
    waiting = [
        (group, nominated)
        for group, nominated, _ in held
        if not _bind_there(session, group, nominated)
    ]
    # Partial reservations are made again before the remaining jobs look for other nodes, so that
    # none of them is bound on resources that are reserved.
    for group, _, _ in parts:
        if session.starving(group) and group.key not in session.reservations.lost_to:
            reserve_part(session, group, session.framework.jobs.missing(group))
    # All remaining reservations are placed first, so that a job that is bound on other nodes does
    # not use the nodes of another reservation.
    for group, nominated, statement in _place_all(session, waiting, terminating):
        statement.withdraw()
        if not _bind_elsewhere(session, group, nominated):
            _reserve(session, group, nominated, terminating)


def _place_all(
    session: Session, nominees: list[tuple[GroupRow, Nomination]], terminating: SimulatedRemoval
) -> list[OpenReservation]:
    """Place all jobs on their nominated nodes, as if terminating pods were gone.

    Returns the jobs for which this is possible, oldest nomination first, with their open
    statements.
    """
    held: list[OpenReservation] = []
    terminating.remove()
    # Each nomination was simulated with the older ones in place, so the oldest is placed first.
    for group, nominated in sorted(nominees, key=lambda entry: (entry[1].age, entry[0].key)):
        statement = Statement(session, group)
        if place_on_nominated(session, group, nominated, statement):
            held.append(OpenReservation(group, nominated, statement))
    terminating.restore(kept=True)
    return held


def _place_parts(
    session: Session, nominees: list[tuple[GroupRow, Nomination]], held: list[OpenReservation]
) -> list[OpenReservation]:
    """Place jobs whose nomination is incomplete, and which do not fit as a whole, on their nodes.

    So they keep the resources that were freed for them.
    """
    known = {entry.group.key: None for entry in held}
    parts: list[OpenReservation] = []
    for group, nominated in sorted(nominees, key=lambda entry: (entry[1].age, entry[0].key)):
        if nominated.incomplete and group.key not in known and session.starving(group):
            statement = Statement(session, group)
            if place_on_freed(session, group, nominated, statement):
                parts.append(OpenReservation(group, nominated, statement))
    return parts


def _bind_there(session: Session, group: GroupRow, nominated: Nomination) -> bool:
    """Bind the job on its nominated nodes, if they are free.

    Other reservations are not placed at this point. That is safe: all reservations fit together
    once terminating pods are gone, so a job on its own nominated nodes uses nothing that is
    reserved for another job.
    """
    statement = Statement(session, group)
    # A pod without a nominated node could be placed on a node of another reservation, because these
    # are withdrawn at this point. So only nominated nodes are allowed.
    if not place_on_nominated(session, group, nominated, statement, beyond=False):
        return False
    statement.commit()
    return True


def _bind_elsewhere(session: Session, group: GroupRow, nominated: Nomination) -> bool:
    """Bind the job now on nodes that are not reserved for others, so that it need not wait."""
    statement = Statement(session, group)
    if place_on_nominated(session, group, nominated, statement):
        statement.commit()
        return True
    # Any node will do: what is reserved for other jobs is placed while this job looks for nodes.
    missing = session.framework.jobs.missing(group)
    return bool(missing) and place_minimum(session, group, missing) is None


def _reserve(
    session: Session, group: GroupRow, nominated: Nomination, terminating: SimulatedRemoval
) -> None:
    """Reserve the nominated nodes of the job until terminating pods are gone."""
    # Placed as if terminating pods were gone. When these return, the nodes are overcommitted, so no
    # other pod is placed there.
    terminating.remove()
    statement = Statement(session, group)
    if place_on_nominated(session, group, nominated, statement):
        nodes = statement.reserve()
        # After a take-over the nomination is new and must be written to the pods.
        if group.key in session.reservations.taken_over:
            session.reservations.reserve(group, nodes)
        # Later actions must not evict further pods for a job whose victims are terminating already.
        wait_for_terminating(session, group, evicted=0)
    terminating.restore(kept=True)
