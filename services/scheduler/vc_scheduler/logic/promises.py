"""Keeping what was promised: jobs for which pods were evicted get the room that was made for them.

All promises of a session are held first, each on the nodes of its own trial and with the pods that
leave away: they go together. Then each job is bound on its places where they are free already; the others
hold theirs, and are bound wherever else they fit now or go on holding them. Nobody gets that room by share or by turn before the promise
is redeemed or its time has passed: evictions for a job that then does not run are worse than a turn out of
order. Only a job of the same queue and of higher priority may take it over (`outranking.py`).
"""

from vc_scheduler.logic.future import hold_part, promise
from vc_scheduler.logic.leaving import Leaving, those_leaving
from vc_scheduler.logic.nominations import Nomination, promise_to
from vc_scheduler.logic.outranking import Held, yield_to_higher
from vc_scheduler.logic.places import put_freed, try_places
from vc_scheduler.logic.placing import place_minimum
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement


def keep_promises(session: Session, groups: list[GroupRow]) -> None:
    """Bind the jobs whose promised room is free, hold the room of the others.

    A job whose places are of no use any more (a node went away) is left as it is; one of which a victim
    stayed holds what the others freed, until all of it fits or other victims are chosen.
    """
    known = session.snapshot.nominated
    found = [(group, promise_to(group, known)) for group in groups]
    promised = [(group, nominated) for group, nominated in found if nominated is not None]
    if not promised:
        return
    away = those_leaving(session, victims=False)
    whole = _hold_all(session, promised, away)
    parts = _hold_parts(session, promised, whole)
    held = yield_to_higher(session, groups, [*whole, *parts], away)
    for entry in held:
        entry.statement.withdraw()
    waiting = [(group, place) for group, place, _ in held if not _bind_there(session, group, place)]
    for group, _, _ in parts:
        if session.starving(group) and group.key not in session.lost_to:
            hold_part(session, group, session.framework.missing(group))
    for group, place, statement in _hold_all(session, waiting, away):
        statement.withdraw()
        if not _bind_elsewhere(session, group, place):
            _hold(session, group, place, away)


def _hold_all(
    session: Session, promised: list[tuple[GroupRow, Nomination]], away: Leaving
) -> list[Held]:
    """All of them on their places at once, as it will be when the pods that leave are gone."""
    held: list[Held] = []
    away.go()
    for group, nominated in sorted(promised, key=lambda entry: (entry[1].age, entry[0].key)):
        statement = Statement(session, group)
        if try_places(session, group, nominated, statement):
            held.append(Held(group, nominated, statement))
    away.back(kept=True)
    return held


def _hold_parts(
    session: Session, promised: list[tuple[GroupRow, Nomination]], held: list[Held]
) -> list[Held]:
    """Incomplete nominations that cannot be held whole: what was freed for them."""
    known = {entry.group.key: None for entry in held}
    parts: list[Held] = []
    for group, nominated in sorted(promised, key=lambda entry: (entry[1].age, entry[0].key)):
        if nominated.incomplete and group.key not in known and session.starving(group):
            statement = Statement(session, group)
            if put_freed(session, group, nominated, statement):
                parts.append(Held(group, nominated, statement))
    return parts


def _bind_there(session: Session, group: GroupRow, nominated: Nomination) -> bool:
    """Bind it on its places, if they are free.

    Room that others wait for does not count here: all places go together once the pods that leave are
    gone, and until then a place may be free that a younger promise is to have next to it.
    """
    statement = Statement(session, group)
    if not try_places(session, group, nominated, statement, beyond=False):
        return False
    statement.commit()
    return True


def _bind_elsewhere(session: Session, group: GroupRow, nominated: Nomination) -> bool:
    """Bind it now where it takes nobody's place, which is sooner."""
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
        places = statement.reserve()
        if group.key in session.taken_over:  # a promise that is new
            session.places[group.key] = places
        promise(session, group, evicted=0)
    away.back(kept=True)
