"""Placement of the pods of one group: the minimum in one statement, surplus pods if they fit.

Equal pods are placed in one batch. Pods with pod affinity or topology spread, and pods to which
such terms of other pods apply, are placed one by one. Each of them sees the placement of those
before it.
"""

from typing import Final, NamedTuple

import numpy as np

from vc.messages.sessions import Reason
from vc.scheduling.model.rows import GroupRow, Run
from vc.scheduling.model.shapes import Shape
from vc.scheduling.placement.node_fit import Beside, does_not_fit
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement

Missing = list[tuple[str | None, int]]
"""Task name, or None for any task, and the number of pods of it that are missing to the minimum."""

_MANY: Final = 2**31
"""A number of pods that no request exceeds."""


class MisfitCache:
    """Why so many pods of a shape do not fit, by shape, number and node capacity state.

    Many gangs of one shape and size wait at the same time. The first refusal is reused as long as
    node capacity is unchanged.
    """

    def __init__(self, session: Session) -> None:
        self._state = session.node_capacity
        self._known: dict[tuple[bytes, int, int], Reason] = {}

    def get(self, shape: Shape, count: int) -> Reason | None:
        """The reason for `count` pods in the current state of node capacity, if it is known."""
        return self._known.get((shape.key, count, self._state.state))

    def put(self, shape: Shape, count: int, state: int, reason: Reason) -> None:
        """Record the reason for a state of node capacity."""
        self._known[shape.key, count, state] = reason


class MissingPods(NamedTuple):
    """Missing pods of a task (any task if None), and the runs that may supply them, in order."""

    task: str | None
    pods: int
    runs: list[Run]


Wanted = list[MissingPods]
"""All missing pods of a gang, in the order of placement."""


def placement_key(session: Session, group: GroupRow, missing: Missing) -> tuple[object, ...]:
    """The equivalence key for the placement of a gang: equal gangs of a queue are tried only once.

    It contains the state of node capacity, so a result is valid only as long as nothing is placed.
    """
    runs = tuple((run.task, run.shape.key, len(run.pods)) for run in group.runs)
    return session.node_capacity.state, tuple(missing), runs, group.queue


def place_minimum(session: Session, group: GroupRow, missing: Missing) -> Reason | None:
    """Bind all missing pods of the gang, or none; return the reason if they are not bound."""
    statement = Statement(session, group)
    reason = try_minimum(session, group, missing, statement)
    if reason is None and not statement.commit():
        return session.reservations.waiting.get(group.key)
    return reason


def try_minimum(
    session: Session, group: GroupRow, missing: Missing, statement: Statement
) -> Reason | None:
    """Place all missing pods of the gang in the statement; return a reason if they do not fit.

    If they do not fit, the statement is empty afterwards. Tasks are placed in task order first. If
    that fails, the tasks that fit on the fewest nodes are placed first: otherwise a gang could have
    to wait because its pods without GPUs are placed on the only nodes with GPUs.
    """
    # Task order is what users configure, so it decides whenever the gang fits with it.
    in_turn = in_task_order(session, group, missing)
    reason = _attempt(session, group, in_turn, statement)
    if reason is None:
        return None
    tightest = tightest_first(session, in_turn)
    # A second attempt costs as much as the first, so it is made only if its order differs.
    return reason if tightest == in_turn else _attempt(session, group, tightest, statement)


def why_no_fit(session: Session, group: GroupRow, missing: Missing) -> Reason | None:
    """Why the gang does not fit now; None if it fits. The session is unchanged afterwards."""
    statement = Statement(session, group)
    reason = try_minimum(session, group, missing, statement)
    statement.discard()
    return reason


def _attempt(
    session: Session, group: GroupRow, wanted: Wanted, statement: Statement
) -> Reason | None:
    """Place all parts in this order. If one does not fit, discard the statement and return why."""
    for some in wanted:
        reason = _place_some(session, group, some, statement=statement)
        if reason is not None:
            statement.discard()
            return reason
    return None


def in_task_order(session: Session, group: GroupRow, missing: Missing) -> Wanted:
    """The missing pods with the runs that may supply them, in the order of placement."""
    framework = session.framework
    # A plugin that scores pods against each other also decides which task is placed first.
    if len(missing) > 1 and framework.nodes.place_one_by_one(group):
        ordered = framework.order.in_task_order(session, group, group.runs)
        # Reversed, so that the first run of each task is the one that stays in the dictionary.
        first = {run.task: at for at, run in reversed(list(enumerate(ordered)))}
        missing = sorted(missing, key=lambda some: first.get(some[0] or "", len(ordered)))
    return [
        MissingPods(task, count, _runs_of(session, group, task)) for task, count in missing
    ]  # pods of any task come last, so that they do not use up pods of a task with its own minimum


def _runs_of(session: Session, group: GroupRow, task: str | None) -> list[Run]:
    """Runs of a task (all tasks if None) in task order, best-effort runs last."""
    runs = [run for run in group.runs if task is None or run.task == task]
    ordered = session.framework.order.in_task_order(session, group, runs)
    # The sort is stable, so task order stays within both kinds. Best-effort pods come last and fill
    # up a minimum only where pods with requests do not.
    return sorted(ordered, key=is_best_effort_run)


def tightest_first(session: Session, wanted: Wanted) -> Wanted:
    """The same missing pods; the runs for which the nodes have the least capacity come first."""
    if sum(len(some.runs) for some in wanted) < 2:
        return wanted
    capacity = {
        run.pods[0].key: session.node_capacity.placeable(run.shape, _MANY)
        for some in wanted
        for run in some.runs
    }

    def tightness(run: Run) -> tuple[bool, int]:
        return (is_best_effort_run(run), capacity[run.pods[0].key])

    ordered = [
        MissingPods(task, count, sorted(runs, key=tightness)) for task, count, runs in wanted
    ]
    # A part without runs cannot be placed. It comes last, so that the reason of a part with
    # runs is reported.
    most = (True, _MANY)
    return sorted(
        ordered,
        key=lambda some: (some.task is None, tightness(some.runs[0]) if some.runs else most),
    )


def _place_some(
    session: Session, group: GroupRow, some: MissingPods, *, statement: Statement
) -> Reason | None:
    """Place the missing pods of one task (any task if None); return why they do not fit, else None.

    If not all pods of one run fit, pods of the following runs make up the number.
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
        # The first reason is reported: later runs only make up for pods that this one lacks.
        short = short or reason
        # Further runs are tried only if they have enough pods to make up for this one.
        others = sum(len(session.waiting_pods(other)) for other in ordered[at + 1 :])
        if others == 0:
            return short
        # `_place_run` has placed a part of the run already, unless the refusal came from the queue,
        # a plugin or the cache.
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
    """Place as many of `wanted` pods as fit on nodes and into the queue's quota."""
    if one_by_one(session, group, run):
        for _ in range(wanted):
            if not _place_one(session, group, run=run, statement=statement):
                return
        return
    count = _admitted(session, group, run=run, wanted=wanted)
    rows = session.node_capacity.place(run.shape, count) if count else None
    if rows is not None:
        statement.allocate(run, rows)


def _place_one(session: Session, group: GroupRow, *, run: Run, statement: Statement) -> bool:
    """Place the next pod of a run, if the queue and the plugins permit it and a node fits."""
    if refused_by_queue(session, group, run.shape, count=1) is not None:
        return False
    if (
        session.framework.nodes.pre_predicate_refusal(session, session.waiting_pods(run)[0])
        is not None
    ):
        return False
    return place_next(session, run, statement)


def is_best_effort_run(run: Run) -> bool:
    """Whether the pods of the run are best-effort."""
    return run.shape.best_effort


def one_by_one(session: Session, group: GroupRow, run: Run) -> bool:
    """Whether the pods of the run are placed one by one, as each placement affects the next."""
    return session.pod_affinity.delicate(run) or session.framework.nodes.place_one_by_one(group)


def _place_run(
    session: Session, group: GroupRow, *, run: Run, count: int, statement: Statement
) -> Reason | None:
    """Place `count` pods of a run; return why they do not all fit. Then a part may be placed."""
    shape, node_capacity = run.shape, session.node_capacity
    refusal = refused_by_queue(session, group, shape, count=count)
    if refusal is not None:
        return refusal
    if one_by_one(session, group, run):
        return _place_each(session, run, count=count, statement=statement)
    # The state is read before the partial placement below changes it. The reason is true for the
    # state in which the placement began.
    misfits, state = session.cached(MisfitCache), node_capacity.state
    known = misfits.get(shape, count)
    if known is not None:
        return known
    rows = node_capacity.place(shape, count)
    if rows is not None:
        statement.allocate(run, rows)
        return None
    fitting = node_capacity.placeable(shape, count)
    partial = node_capacity.place(shape, fitting) if fitting else None
    if partial is not None:
        statement.allocate(run, partial)  # so the reason describes what the next pod lacks
    reason = does_not_fit(shape, wanted=count, placeable=fitting, node_capacity=node_capacity)
    misfits.put(shape, count, state, reason)
    return reason


def _place_each(session: Session, run: Run, *, count: int, statement: Statement) -> Reason | None:
    """Place pods one by one, because the allowed nodes of each depend on those placed before."""
    for placed in range(count):
        pod = session.waiting_pods(run)[0]
        refusal = session.framework.nodes.pre_predicate_refusal(session, pod)
        if refusal is not None:
            return refusal
        if not place_next(session, run, statement):
            return does_not_fit(
                run.shape,
                wanted=count,
                placeable=placed,
                node_capacity=session.node_capacity,
                beside=Beside(pod, session.pod_affinity, session.beside(pod)),
            )
    return None


def place_next(session: Session, run: Run, statement: Statement) -> bool:
    """Place the next pod of a run on its best node; return whether there is one."""
    pod = session.waiting_pods(run)[0]
    mask = session.beside(pod).mask
    more = session.framework.nodes.node_order_scores(session, pod, mask)
    row = session.node_capacity.best(run.shape, mask, more)
    if row is not None:
        statement.allocate(run, np.array([row], dtype=np.int64))
    return row is not None


def place_more(session: Session, group: GroupRow, runs: tuple[Run, ...], *, pods_max: int) -> int:
    """Bind up to `pods_max` surplus pods of a job; return how many were bound."""
    placed = 0
    for run in session.framework.order.in_task_order(session, group, runs):
        wanted = min(pods_max - placed, len(session.waiting_pods(run)))
        if wanted and one_by_one(session, group, run):
            placed += _place_more_each(session, group, run=run, wanted=wanted)
            continue
        count = _admitted(session, group, run=run, wanted=wanted)
        if count == 0:
            continue
        rows = session.node_capacity.place(run.shape, count)
        # Surplus pods need not start together, so each run has a statement of its own.
        if rows is not None:
            statement = Statement(session, group)
            statement.allocate(run, rows)
            placed += statement.commit()
    return placed


def _place_more_each(session: Session, group: GroupRow, *, run: Run, wanted: int) -> int:
    """Bind pods one by one until one does not fit; return how many were bound."""
    statement = Statement(session, group)
    for _ in range(wanted):
        if refused_by_queue(session, group, run.shape, count=1) or not place_next(
            session, run, statement
        ):
            break
    return statement.commit()


def _admitted(session: Session, group: GroupRow, *, run: Run, wanted: int) -> int:
    """How many of `wanted` pods fit both on nodes and into the queue's quota."""
    count = session.node_capacity.placeable(run.shape, wanted) if wanted else 0
    low = 0
    # A queue that refuses a number of pods also refuses any larger number, so binary search works.
    while low < count:
        middle = (low + count + 1) // 2
        if refused_by_queue(session, group, run.shape, count=middle):
            count = middle - 1
        else:
            low = middle
    return low


def refused_by_queue(
    session: Session, group: GroupRow, shape: Shape, *, count: int, reserved: bool = True
) -> Reason | None:
    """Why `count` further pods do not fit into the quota of the job's queue; None if they fit.

    Pods for which the queue has reserved quota need none. With `reserved=False` such reservations
    are ignored, which is needed to check whether quota can be reserved.
    """
    if reserved:
        count = session.charged(group, shape, count)
    if not count:
        return None
    return session.framework.queues.allocatable_refusal(session, group, shape=shape, count=count)
