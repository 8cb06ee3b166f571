"""allocate: place jobs in queue and job order. A gang is placed as a whole or not at all.

1. Jobs for which pods were evicted are bound on their reservations or keep them. Then half-bound
   gangs, which a crash or a failed bind left behind, are completed before other jobs are placed.
2. Jobs below their minimum are placed in queue and job order. Each job is bound in one statement,
   or gets a reservation on resources that terminating pods will free, or is refused with a reason.
3. When no further minimum can be placed, surplus pods are placed in queue and job order. While
   other jobs wait, a job places only a few pods per turn, so that shares grow evenly, as drf
   requires. Surplus pods wait for a short time after the job gets its minimum
   (`actions/surplus_delay.py`).
"""

from collections.abc import Mapping
from typing import Final

from vc.messages.sessions import Reason
from vc.scheduling.actions.eligible import eligible
from vc.scheduling.actions.job_order import JobOrder
from vc.scheduling.actions.surplus_delay import surplus_waits
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.nominations import nomination_of
from vc.scheduling.model.rows import PENDING, GroupRow, Run
from vc.scheduling.placement.gang import place_minimum, place_more
from vc.scheduling.placement.shortages import with_other_tasks
from vc.scheduling.reservations.future_idle import reserve_future_idle
from vc.scheduling.reservations.redeem import redeem_nominations
from vc.scheduling.session import reasons
from vc.scheduling.session.fifo import keep_fifo_order
from vc.scheduling.session.session import Session

ELASTIC_PODS_MAX: Final = 8
ELASTIC_PART: Final = 16
"""Limits of the surplus pods that a job places per turn while other jobs wait.

A turn places one sixteenth of the job's waiting pods, at least one and at most eight. Small jobs
share the cluster pod by pod, and jobs with thousands of pods do not need thousands of turns."""


def allocate(session: Session) -> None:
    """Place minimums, then surplus pods.

    Without the action enqueue, all Pending groups are enqueued here.
    """
    if "enqueue" not in session.framework.actions:
        _enqueue_all(session)
    candidates = eligible(session)
    groups = [group for group in candidates if _requesting(group)]
    redeem_nominations(session, groups)
    # Three kinds of jobs already use resources that are wasted if another job is placed first:
    # half-bound gangs, jobs with a nomination, and jobs with a node selected for one of their
    # volume claims.
    begun = session.pod_affinity.claims.begun(groups)
    known = session.snapshot.evictions.nominated
    nominated = {group.key: None for group in groups if nomination_of(group, known) is not None}
    for first in (session.snapshot.partial_since, nominated, begun):
        for preferred in _those(session, groups, first):
            if preferred.key not in session.refused:
                _place_gang(session, preferred)
    # Best-effort jobs take part in the FIFO check, so that they are refused too when a job before
    # them waits. They are filtered out only afterwards, because backfill places them.
    in_order = [group for group in keep_fifo_order(session, candidates) if _requesting(group)]
    waiting = [group for group in in_order if group.key not in session.refused]
    first_refused = _place_minimums(session, [g for g in waiting if session.starving(g)])
    _place_surplus(session, [g for g in waiting if _may_grow(session, g, first_refused)])


def _place_minimums(session: Session, groups: list[GroupRow]) -> dict[str, OrderKey]:
    """Place the minimums of the groups in queue and job order.

    Returns, by name of a FIFO queue, the job order key of the first job that was refused. Surplus
    pods of later jobs must not overtake it.
    """
    first_refused: dict[str, OrderKey] = {}
    turns = JobOrder(session, groups)
    while (group := turns.next()) is not None:
        if not _overused(session, group):
            # The key is read first, because placing pods changes the job's share and so its key.
            key = session.framework.order.job_order_key(session, group)
            _place_gang(session, group)
            if group.key in session.refused and session.snapshot.queues[group.queue].fifo:
                first_refused.setdefault(group.queue, key)
            for behind in turns.blocked(group) if group.key in session.refused else ():
                session.refuse(behind, reasons.behind(group))
        turns.done(group)
    return first_refused


def _place_surplus(session: Session, groups: list[GroupRow]) -> None:
    """Place surplus pods in queue and job order, a few per turn while other jobs wait."""
    turns = JobOrder(session, groups)
    while (group := turns.next()) is not None:
        placed = 0
        if not _overused(session, group):
            most = _ration(session, group) if turns.contested(group) else group.pending
            # Any single pod may make the queue overused, so this is checked again after each pod.
            if session.framework.queues.overused_enabled:
                most = 1
            placed = place_more(session, group, _requesting(group), pods_max=most)
        # A job that placed nothing gets no further turn: nothing becomes free later in the action,
        # and the loop would not end.
        turns.done(group, again=placed > 0 and _has_more(session, group))


def _may_grow(session: Session, group: GroupRow, first_refused: Mapping[str, OrderKey]) -> bool:
    """Whether surplus pods of the group may be placed in this session.

    The group must have its minimum, must not overtake a refused job of a FIFO queue, and its
    surplus delay must be over.
    """
    if group.key in session.refused or session.starving(group) or not _has_more(session, group):
        return False
    first = first_refused.get(group.queue)
    if first is not None and session.framework.order.job_order_key(session, group) > first:
        return False
    return not surplus_waits(session, group)


def _overused(session: Session, group: GroupRow) -> bool:
    """Whether the group's queue is overused. If so, a starving group is refused with the reason."""
    queue = session.snapshot.queues[group.queue]
    reason = session.framework.queues.overused_refusal(session, queue)
    if reason is not None and session.starving(group):
        session.refuse(group, reason)
    return reason is not None


def _enqueue_all(session: Session) -> None:
    """Enqueue all Pending groups that were not refused."""
    for group in session.snapshot.groups:
        if session.phase(group) == PENDING and group.key not in session.refused:
            session.enqueue(group)


def _those(session: Session, groups: list[GroupRow], first: Mapping[str, object]) -> list[GroupRow]:
    """Those of `groups` whose key is in `first`, in job order."""
    return sorted([g for g in groups if g.key in first], key=_Ordered(session).key)


class _Ordered:
    """Job order as a sort key."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def key(self, group: GroupRow) -> tuple[object, ...]:
        return self._session.framework.order.job_order_key(self._session, group)


def _place_gang(session: Session, group: GroupRow) -> bool:
    """Bind the minimum of a starving group, or reserve future idle resources, or refuse the group.

    Returns whether the minimum was bound.
    """
    if not session.starving(group):
        return False
    missing = session.framework.jobs.missing(group)
    # A partial reservation of the group must not stand in the way of its own gang. If the gang does
    # not fit, `reserve_future_idle` makes the partial reservation again.
    session.reservations.cancel_partial(group)
    # Binding now is tried before a reservation, so that resources are not kept idle.
    reason: Reason | None = place_minimum(session, group, missing)
    if reason is not None and not reserve_future_idle(session, group, missing):
        session.refuse(group, with_other_tasks(session, group, missing, reason))
    return reason is None


def _ration(session: Session, group: GroupRow) -> int:
    """The number of surplus pods that the group may place per turn while other jobs wait."""
    waiting = sum(len(session.waiting_pods(run)) for run in _requesting(group))
    return max(1, min(ELASTIC_PODS_MAX, waiting // ELASTIC_PART))


def _requesting(group: GroupRow) -> tuple[Run, ...]:
    """The runs of the group that are not best-effort."""
    return tuple(run for run in group.runs if not run.shape.best_effort)


def _has_more(session: Session, group: GroupRow) -> bool:
    """Whether the group has waiting pods that are not best-effort."""
    return any(session.waiting_pods(run) for run in _requesting(group))
