"""Keeping what was promised: jobs for which pods were evicted get the room that was made for them.

All promises of a session are held first, each on the nodes of its own trial and with the pods that
leave away, so that none takes another's room. Then each job in turn is bound, on its places or
wherever it fits now, or goes on holding them. Nobody gets that room by share or by turn before the promise
is redeemed or its time has passed: evictions for a job that then does not run are worse than a turn out of
order. Only a job of the same queue and of higher priority may take it over (`outranking.py`).
"""

from vc_scheduler.logic.evictions import NOMINATION_SECONDS
from vc_scheduler.logic.future import promise
from vc_scheduler.logic.leaving import Leaving
from vc_scheduler.logic.nominations import Nomination
from vc_scheduler.logic.outranking import Held, yield_to_higher
from vc_scheduler.logic.places import try_places
from vc_scheduler.logic.placing import place_minimum
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement


def keep_promises(session: Session, groups: list[GroupRow]) -> None:
    """Bind the jobs whose promised room is free, hold the room of the others.

    A job whose places are of no use any more (a node went away, a victim stayed) is left as it is.
    """
    known = session.snapshot.nominated
    promised = [group for group in groups if group.key in known]
    if not promised:
        return
    away = Leaving(session, session.snapshot.leaving, counted=False)
    held: list[Held] = []
    away.go()
    for group in sorted(promised, key=lambda group: (known[group.key].since, group.key)):
        statement = Statement(session, group)
        if try_places(session, group, known[group.key], statement):
            held.append(Held(group, known[group.key], statement))
    away.back(kept=True)
    for group, _, statement in yield_to_higher(session, groups, held, away):
        statement.withdraw()
        if not _bind(session, group, known[group.key]):
            _hold(session, group, known[group.key], away)


def _bind(session: Session, group: GroupRow, nominated: Nomination) -> bool:
    """Bind it now, if it can be: on its places, or elsewhere when that is sooner."""
    statement = Statement(session, group)
    if try_places(session, group, nominated, statement):
        statement.commit()
        return True
    missing = session.framework.missing(group)
    return bool(missing) and place_minimum(session, group, missing) is None


def _hold(session: Session, group: GroupRow, nominated: Nomination, away: Leaving) -> None:
    """Its places are its own until then."""
    away.go()
    statement = Statement(session, group)
    if try_places(session, group, nominated, statement):
        statement.reserve()
        promise(session, group, evicted=0)
        session.wake(nominated.since + NOMINATION_SECONDS)
    away.back(kept=True)
