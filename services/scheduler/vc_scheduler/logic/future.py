"""Room that is free as soon as pods that leave are gone.

A gang that does not fit now but fits then holds that room for the rest of the session, so that nobody
after it takes it piece by piece; each session finds this anew from the pods that leave.
"""

from vc_scheduler.logic import reasons
from vc_scheduler.logic.leaving import could_help, reach_without, those_leaving
from vc_scheduler.logic.nominations import incomplete_nomination
from vc_scheduler.logic.places import put_freed
from vc_scheduler.logic.placing import Missing, question_of, try_minimum
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement


def hold_future_room(session: Session, group: GroupRow, missing: Missing) -> bool:
    """Reserve room among pods that leave, if the whole gang fits there."""
    if group.key in session.promised_to:  # it has its room, and waits for something else
        return True
    if session.framework.voters.holds(session, group, whole=False):
        hold_part(session, group, missing)
        return False
    if _hold_whole(session, group, missing):
        return True
    if incomplete_nomination(group, session.snapshot.nominated) is not None:
        hold_part(session, group, missing)
    return False


def _hold_whole(session: Session, group: GroupRow, missing: Missing) -> bool:
    if not session.snapshot.leaving:
        return False
    if session.future is None:  # what is placed meanwhile leaves less, never more
        session.future = reach_without(session, [])
    asked = question_of(session, group, missing)
    if asked in session.no_future or not could_help(session, group, missing, session.future):
        return False
    away = those_leaving(session, victims=False)
    away.go()
    statement = Statement(session, group)
    fits = try_minimum(session, group, missing, statement) is None
    if fits and not session.framework.voters.holds(session, group, whole=True):
        statement.discard()
        fits = False
    if fits:
        statement.reserve()
        promise(session, group, evicted=0)
    away.back(kept=fits)
    if not fits:
        session.no_future[asked] = None
    return fits


def hold_part(session: Session, group: GroupRow, missing: Missing) -> None:
    """Keep what room there is for a part of the job, so that nobody after it takes that. Where only some
    of its victims left, that is what they freed."""
    statement = Statement(session, group)
    nominated = incomplete_nomination(group, session.snapshot.nominated)
    if nominated is not None:
        if put_freed(session, group, nominated, statement):
            session.parts[group.key] = statement.hold()
        return
    for role, count in missing:
        left = count
        for run in [run for run in group.runs if role in (None, run.role)]:
            fitting = session.rooms.placeable(run.shape, min(left, len(session.waiting_pods(run))))
            rows = session.rooms.place(run.shape, fitting) if fitting else None
            if rows is not None:
                statement.allocate(run, rows)
                left -= fitting
    session.parts[group.key] = statement.hold()


def give_up_part(session: Session, group: GroupRow) -> bool:
    """Its room is free again, for a trial of the whole job; whether it held any."""
    give_up = session.parts.pop(group.key, None)
    if give_up is not None:
        give_up()
    return give_up is not None


def promise(session: Session, group: GroupRow, *, evicted: int) -> None:
    """The group has its room and waits for it; no later action tries it again."""
    victims = evicted or len(session.evicted_uids)  # where none are its own, those of others
    reason = reasons.waiting_for_victims(
        leaving=len(session.snapshot.leaving) + victims, evicted=evicted
    )
    session.promised_to[group.key] = reason
    session.refuse(group, reason)
