"""Putting a job's pods where they were promised to lie."""

import numpy as np

from vc_scheduler.logic.nominations import Nomination
from vc_scheduler.logic.placing import Missing, refused_by_queue, try_minimum
from vc_scheduler.logic.rows import GroupRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement
from vc_scheduler.logic.table import Ints


def try_places(
    session: Session,
    group: GroupRow,
    nominated: Nomination,
    statement: Statement,
    *,
    beyond: bool = True,
) -> bool:
    """Put its pods where they were promised to lie, and `beyond` that what the gang lacks anywhere."""
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
    if rest and not beyond:
        statement.discard()
        return False
    return not rest or try_minimum(session, group, rest, statement) is None


def put_freed(
    session: Session, group: GroupRow, nominated: Nomination, statement: Statement
) -> bool:
    """Put its pods where they were promised to lie, whether all of that is free or not; whether any lies.

    A pod of 8 CPUs of which two victims of 4 make room lies there when only one of them has left: the node
    is more than full then, so what was freed is not given to others piece by piece.
    """
    for run in group.runs:
        nodes = nominated.places(run.role, run.shape.key)[: len(session.waiting_pods(run))]
        found = [session.snapshot.nodes.static.row(name) for name in nodes]
        rows = [row for row in found if row is not None]
        if rows:
            statement.allocate(run, np.array(rows, dtype=np.int64))
    return bool(statement.rows)


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
