"""Placing pods of one group: its minimum as one statement, the rest as far as it goes.

Equal pods are placed together. Pods that ask about other pods, their own siblings among them, or that
others keep away, are placed one by one, each seeing where those before it lie.
"""

from typing import Final, NamedTuple

import numpy as np

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.misfits import Beside, does_not_fit
from vc_scheduler.logic.rows import GroupRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.statement import Statement

Missing = list[tuple[str | None, int]]

_MANY: Final = 2**31
"""More pods than anybody asks for."""


class Some(NamedTuple):
    """So many pods of a role, or of any, and the runs they are taken from, in their order."""

    role: str | None
    pods: int
    runs: list[Run]


Wanted = list[Some]


def question_of(session: Session, group: GroupRow, missing: Missing) -> tuple[object, ...]:
    """What an answer about room for a gang depends on: equal gangs of a queue need it asked once."""
    runs = tuple((run.role, run.shape.key, len(run.pods)) for run in group.runs)
    return session.rooms.state, tuple(missing), runs, group.queue


def place_minimum(session: Session, group: GroupRow, missing: Missing) -> Reason | None:
    """Bind what the gang lacks, whole; or nothing, because."""
    statement = Statement(session, group)
    reason = try_minimum(session, group, missing, statement)
    if reason is None and not statement.commit():
        return session.promised_to.get(group.key)
    return reason


def try_minimum(
    session: Session, group: GroupRow, missing: Missing, statement: Statement
) -> Reason | None:
    """Put what the gang lacks on nodes; nothing lies there when it does not fit whole.

    First in the order of tasks. Where that fails, tasks that fit on the fewest nodes go first: a gang must
    not wait because its pods without GPUs lie on the only nodes that have some.
    """
    in_turn = in_task_order(session, group, missing)
    reason = _attempt(session, group, in_turn, statement)
    if reason is None:
        return None
    tightest = tightest_first(session, in_turn)
    return reason if tightest == in_turn else _attempt(session, group, tightest, statement)


def why_no_room(session: Session, group: GroupRow, missing: Missing) -> Reason | None:
    """Why the gang does not fit now; None when it does. Nothing lies anywhere afterwards."""
    statement = Statement(session, group)
    reason = try_minimum(session, group, missing, statement)
    statement.discard()
    return reason


def _attempt(
    session: Session, group: GroupRow, wanted: Wanted, statement: Statement
) -> Reason | None:
    for some in wanted:
        reason = _place_some(session, group, some, statement=statement)
        if reason is not None:
            statement.discard()
            return reason
    return None


def in_task_order(session: Session, group: GroupRow, missing: Missing) -> Wanted:
    """What is missing with the runs it may be taken from, in the order in which they are tried."""
    voters = session.framework.voters
    if len(missing) > 1 and voters.one_by_one(group):
        ordered = voters.in_task_order(session, group, group.runs)
        places = {run.role: at for at, run in reversed(list(enumerate(ordered)))}
        missing = sorted(missing, key=lambda some: places.get(some[0] or "", len(ordered)))
    return [
        Some(role, count, _runs_of(session, group, role)) for role, count in missing
    ]  # what may be of any role comes last


def _runs_of(session: Session, group: GroupRow, role: str | None) -> list[Run]:
    """Runs of a role (all, when None); pods that ask for something first."""
    runs = [run for run in group.runs if role is None or run.role == role]
    ordered = session.framework.voters.in_task_order(session, group, runs)
    return sorted(ordered, key=asks_for_nothing)


def tightest_first(session: Session, wanted: Wanted) -> Wanted:
    """The same, those first of which the nodes could take the fewest."""
    if sum(len(some.runs) for some in wanted) < 2:
        return wanted
    room = {
        run.pods[0].key: session.rooms.placeable(run.shape, _MANY)
        for some in wanted
        for run in some.runs
    }

    def tightness(run: Run) -> tuple[bool, int]:
        return (asks_for_nothing(run), room[run.pods[0].key])

    ordered = [Some(role, count, sorted(runs, key=tightness)) for role, count, runs in wanted]
    most = (True, _MANY)
    return sorted(
        ordered,
        key=lambda some: (some.role is None, tightness(some.runs[0]) if some.runs else most),
    )


def _place_some(
    session: Session, group: GroupRow, some: Some, *, statement: Statement
) -> Reason | None:
    """Put so many pods of a role (any, when None) on nodes.

    Where not all of one kind find room, others that will do make up the number.
    """
    left = some.pods
    short: Reason | None = None
    ordered = some.runs
    for at, run in enumerate(ordered):
        waiting = len(session.waiting_pods(run))
        wanted = min(left, waiting)
        if wanted == 0:
            continue
        reason = _place_run(session, group, run=run, count=wanted, statement=statement)
        if reason is None:
            left -= wanted
            continue
        short = short or reason
        others = sum(len(session.waiting_pods(other)) for other in ordered[at + 1 :])
        if others == 0:
            return short
        if len(session.waiting_pods(run)) == waiting:
            _place_fewer(session, group, run=run, wanted=wanted, statement=statement)
        left -= waiting - len(session.waiting_pods(run))
        if left > others:
            return short
    if not left:
        return None
    return short or reasons.not_placeable_yet(group, needed=some.pods, lacking=left)


def _place_fewer(
    session: Session, group: GroupRow, *, run: Run, wanted: int, statement: Statement
) -> None:
    """Put as many of `wanted` pods on nodes as the nodes and the queue have room for."""
    if one_by_one(session, group, run):
        for _ in range(wanted):
            if not _place_one(session, group, run=run, statement=statement):
                return
        return
    count = _admitted(session, group, run=run, wanted=wanted)
    rows = session.rooms.place(run.shape, count) if count else None
    if rows is not None:
        statement.allocate(run, rows)


def _place_one(session: Session, group: GroupRow, *, run: Run, statement: Statement) -> bool:
    if refused_by_queue(session, group, run.shape, count=1) is not None:
        return False
    if session.framework.voters.refuse_pod(session, session.waiting_pods(run)[0]) is not None:
        return False
    return place_next(session, run, statement)


def asks_for_nothing(run: Run) -> bool:
    return run.shape.best_effort


def one_by_one(session: Session, group: GroupRow, run: Run) -> bool:
    """Whether its pods must be looked at one after the other."""
    return session.peers.delicate(run) or session.framework.voters.one_by_one(group)


def _place_run(
    session: Session, group: GroupRow, *, run: Run, count: int, statement: Statement
) -> Reason | None:
    shape, rooms = run.shape, session.rooms
    refusal = refused_by_queue(session, group, shape, count=count)
    if refusal is not None:
        return refusal
    if one_by_one(session, group, run):
        return _place_each(session, run, count=count, statement=statement)
    known = (shape.key, count, rooms.state)
    if known in session.misfits:
        return session.misfits[known]
    rows = rooms.place(shape, count)
    if rows is not None:
        statement.allocate(run, rows)
        return None
    fitting = rooms.placeable(shape, count)
    partial = rooms.place(shape, fitting) if fitting else None
    if partial is not None:
        statement.allocate(run, partial)  # so that the reason sees what the nodes lack then
    reason = does_not_fit(shape, wanted=count, placeable=fitting, rooms=rooms)
    session.misfits[known] = reason
    return reason


def _place_each(session: Session, run: Run, *, count: int, statement: Statement) -> Reason | None:
    """One by one; the nodes each may go to depend on those before it."""
    for placed in range(count):
        pod = session.waiting_pods(run)[0]
        refusal = session.framework.voters.refuse_pod(session, pod)
        if refusal is not None:
            return refusal
        if not place_next(session, run, statement):
            return does_not_fit(
                run.shape,
                wanted=count,
                placeable=placed,
                rooms=session.rooms,
                beside=Beside(pod, session.peers, session.beside(pod)),
            )
    return None


def place_next(session: Session, run: Run, statement: Statement) -> bool:
    """Put the next pod of a run on its best node, if there is one."""
    pod = session.waiting_pods(run)[0]
    mask = session.beside(pod).mask
    more = session.framework.voters.peer_score(session, pod, mask)
    row = session.rooms.best(run.shape, mask, more)
    if row is not None:
        statement.allocate(run, np.array([row], dtype=np.int64))
    return row is not None


def place_more(session: Session, group: GroupRow, runs: tuple[Run, ...], *, pods_max: int) -> int:
    """Bind up to `pods_max` further pods of a job that has its minimum; how many were bound."""
    placed = 0
    for run in session.framework.voters.in_task_order(session, group, runs):
        wanted = min(pods_max - placed, len(session.waiting_pods(run)))
        if wanted and one_by_one(session, group, run):
            placed += _place_more_each(session, group, run=run, wanted=wanted)
            continue
        count = _admitted(session, group, run=run, wanted=wanted)
        if count == 0:
            continue
        rows = session.rooms.place(run.shape, count)
        if rows is not None:
            statement = Statement(session, group)
            statement.allocate(run, rows)
            placed += statement.commit()
    return placed


def _place_more_each(session: Session, group: GroupRow, *, run: Run, wanted: int) -> int:
    """Bind pods one by one until one finds no place."""
    statement = Statement(session, group)
    for _ in range(wanted):
        if refused_by_queue(session, group, run.shape, count=1) or not place_next(
            session, run, statement
        ):
            break
    return statement.commit()


def _admitted(session: Session, group: GroupRow, *, run: Run, wanted: int) -> int:
    """How many of `wanted` both the nodes and the queue have room for."""
    count = session.rooms.placeable(run.shape, wanted) if wanted else 0
    low = 0
    while low < count:  # the largest number that no gate refuses; gates are monotone in it
        middle = (low + count + 1) // 2
        if refused_by_queue(session, group, run.shape, count=middle):
            count = middle - 1
        else:
            low = middle
    return low


def refused_by_queue(
    session: Session, group: GroupRow, shape: Shape, *, count: int, reserved: bool = True
) -> Reason | None:
    """Why the job's queue has no room for `count` pods more; None when it has. Room that it holds for them
    counts, unless it is `reserved` room that is asked for."""
    if reserved:
        count = session.charged(group, shape, count)
    if not count:
        return None
    for gate in session.framework.queue_gates:
        reason = gate.refuse_pods(session, group, shape=shape, count=count)
        if reason is not None:
            return reason
    return None
