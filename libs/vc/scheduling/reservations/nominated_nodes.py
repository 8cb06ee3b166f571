"""Placement of a job's pods on their nominated nodes."""

import numpy as np

from vc.scheduling.model.node_table import Ints
from vc.scheduling.model.nominations import Nomination
from vc.scheduling.model.rows import GroupRow, Run
from vc.scheduling.placement.gang import Missing, refused_by_queue, try_minimum
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement


def place_on_nominated(
    session: Session,
    group: GroupRow,
    nominated: Nomination,
    statement: Statement,
    *,
    beyond: bool = True,
) -> bool:
    """Place the pods of the group on their nominated nodes; return whether that completes the gang.

    With `beyond`, missing pods without a nominated node are placed on any node. Without it, they
    make the placement fail. If the placement fails, the statement is empty.
    """
    placed: dict[str, int] = {}
    for run in group.runs:
        rows = _rows(session, run, nominated.nodes_of(run.task, run.shape.key))
        if rows is None or not _put(session, group, run, rows=rows, statement=statement):
            statement.discard()
            return False
        placed[run.task] = placed.get(run.task, 0) + len(rows)
    # The nomination names no task of the group any more: allocate looks for other nodes.
    if not any(placed.values()):
        return False
    rest = _without(session.framework.jobs.missing(group), placed)
    if rest and not beyond:
        statement.discard()
        return False
    return not rest or try_minimum(session, group, rest, statement) is None


def place_on_freed(
    session: Session, group: GroupRow, nominated: Nomination, statement: Statement
) -> bool:
    """Place pods on their nominated nodes even if these are not free; return whether any is placed.

    Example: two victims of 4 CPUs are to free a node for a pod of 8 CPUs, and only one is gone. The
    pod is placed, and the node is overcommitted in this session, so no other pod gets the 4 CPUs
    that were freed.
    """
    for run in group.runs:
        nodes = nominated.nodes_of(run.task, run.shape.key)[: len(session.waiting_pods(run))]
        found = [session.snapshot.nodes.static.row(name) for name in nodes]
        # On a deleted node nothing can be kept for the job; on the other nodes it can.
        rows = [row for row in found if row is not None]
        if rows:
            statement.allocate(run, np.array(rows, dtype=np.int64))
    return bool(statement.rows)


def _rows(session: Session, run: Run, nodes: tuple[str, ...]) -> Ints | None:
    """The rows of the first nodes, one per waiting pod; None if one of them does not exist."""
    wanted = nodes[: len(session.waiting_pods(run))]
    rows = [session.snapshot.nodes.static.row(name) for name in wanted]
    # A deleted node makes the plan invalid as a whole: the gang was simulated on all of its nodes.
    if any(row is None for row in rows):
        return None
    return np.array(rows, dtype=np.int64)


def _put(session: Session, group: GroupRow, run: Run, *, rows: Ints, statement: Statement) -> bool:
    """Place pods of a run on exactly these rows; return whether quota and nodes allow it."""
    if not len(rows):
        return True
    # Other jobs may have used the queue's quota since the nomination, or it was lowered.
    if refused_by_queue(session, group, run.shape, count=len(rows)) is not None:
        return False
    if not session.pod_affinity.delicate(run):
        if session.node_capacity.fits(run.shape, rows):
            statement.allocate(run, rows)
            return True
        return False
    # With pod affinity, each pod changes which nodes are allowed for the next one.
    for at in range(len(rows)):
        row = rows[at : at + 1]
        pod = session.waiting_pods(run)[0]
        if session.framework.nodes.pre_predicate_refusal(session, pod) is not None:
            return False
        if not session.beside(pod).mask[row[0]] or not session.node_capacity.fits(run.shape, row):
            return False
        statement.allocate(run, row)
    return True


def _without(missing: Missing, placed: dict[str, int]) -> Missing:
    """The missing pods without those that are placed already."""
    left = dict(placed)
    rest: Missing = []
    for task, count in missing:  # tasks with a minimum come first, then pods of any task
        if task is None:
            taken = min(count, sum(left.values()))
        else:
            taken = min(count, left.get(task, 0))
            left[task] = left.get(task, 0) - taken
        if count > taken:
            rest.append((task, count - taken))
    return rest
