"""Keeping what was promised: jobs for which pods were evicted get the room that was made for them.

All promises of a session are held first, each on the nodes of its own trial and with the pods that
leave away, so that none takes another's room. Then each job in turn is bound, on its places or
wherever it fits now, or goes on holding them. Nobody else gets that room before the promise is redeemed
or its time has passed, neither by priority nor by share: evictions for a job that then does not run are
worse than a turn out of order.
"""

import numpy as np

from vc_scheduler.logic.evictions import NOMINATION_SECONDS
from vc_scheduler.logic.future import promise
from vc_scheduler.logic.leaving import Leaving
from vc_scheduler.logic.nominations import Nomination
from vc_scheduler.logic.placing import Missing, place_minimum, refused_by_queue, try_minimum
from vc_scheduler.logic.rows import GroupRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement
from vc_scheduler.logic.table import Ints


def keep_promises(session: Session, groups: list[GroupRow]) -> None:
    """Bind the jobs whose promised room is free, hold the room of the others.

    A job whose places are of no use any more (a node went away, a victim stayed) is left as it is.
    """
    known = session.snapshot.nominated
    promised = [group for group in groups if group.key in known]
    if not promised:
        return
    away = Leaving(session, session.snapshot.leaving, counted=False)
    held: list[tuple[GroupRow, Statement]] = []
    away.go()
    for group in sorted(promised, key=lambda group: (known[group.key].since, group.key)):
        statement = Statement(session, group)
        if _try_places(session, group, known[group.key], statement):
            held.append((group, statement))
    away.back(kept=True)
    for group, statement in held:
        statement.withdraw()
        if not _bind(session, group, known[group.key]):
            _hold(session, group, known[group.key], away)


def _bind(session: Session, group: GroupRow, nominated: Nomination) -> bool:
    """Bind it now, if it can be: on its places, or elsewhere when that is sooner."""
    statement = Statement(session, group)
    if _try_places(session, group, nominated, statement):
        statement.commit()
        return True
    missing = session.framework.missing(group)
    return bool(missing) and place_minimum(session, group, missing) is None


def _hold(session: Session, group: GroupRow, nominated: Nomination, away: Leaving) -> None:
    """Its places are its own until then."""
    away.go()
    statement = Statement(session, group)
    if _try_places(session, group, nominated, statement):
        statement.reserve()
        promise(session, group, evicted=0)
        session.wake(nominated.since + NOMINATION_SECONDS)
    away.back(kept=True)


def _try_places(
    session: Session, group: GroupRow, nominated: Nomination, statement: Statement
) -> bool:
    """Put its pods where they were promised to lie, and what the gang lacks beyond that anywhere."""
    placed: dict[str, int] = {}
    for run in group.runs:
        rows = _rows(session, run, nominated.places(run.role, run.shape.key))
        if rows is None or not _put(session, group, run, rows=rows, statement=statement):
            statement.discard()
            return False
        placed[run.role] = placed.get(run.role, 0) + len(rows)
    if not any(placed.values()):
        return False
    rest = _without(session.framework.missing(group), placed)
    return not rest or try_minimum(session, group, rest, statement) is None


def _rows(session: Session, run: Run, nodes: tuple[str, ...]) -> Ints | None:
    """The rows of as many nodes as pods wait; None when one of the nodes is gone."""
    wanted = nodes[: len(session.waiting_pods(run))]
    rows = [session.snapshot.nodes.static.row(name) for name in wanted]
    if any(row is None for row in rows):
        return None
    return np.array(rows, dtype=np.int64)


def _put(session: Session, group: GroupRow, run: Run, *, rows: Ints, statement: Statement) -> bool:
    if not len(rows):
        return True
    if refused_by_queue(session, group, run.shape, count=len(rows)) is not None:
        return False
    if not session.peers.delicate(run):
        if session.rooms.fits(run.shape, rows):
            statement.allocate(run, rows)
            return True
        return False
    for at in range(len(rows)):
        row = rows[at : at + 1]
        pod = session.waiting_pods(run)[0]
        if session.framework.voters.refuse_pod(session, pod) is not None:
            return False
        if not session.beside(pod).mask[row[0]] or not session.rooms.fits(run.shape, row):
            return False
        statement.allocate(run, row)
    return True


def _without(missing: Missing, placed: dict[str, int]) -> Missing:
    """What is missing beyond the pods that are placed already."""
    left = dict(placed)
    rest: Missing = []
    for role, count in missing:  # roles first, then what may be of any role
        if role is None:
            taken = min(count, sum(left.values()))
        else:
            taken = min(count, left.get(role, 0))
            left[role] = left.get(role, 0) - taken
        if count > taken:
            rest.append((role, count - taken))
    return rest
