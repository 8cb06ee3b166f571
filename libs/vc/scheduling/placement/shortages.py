"""Shortages of all tasks of a gang, not only of the first task that does not fit.

Placement stops at the first task that does not fit, because that is sufficient to refuse the gang.
A user who adds resources for that task would then run into the next one. So a refused gang with
several tasks is examined once more: as many pods of each task as fit are placed, regardless of the
queue's quota. The reason then has the shortages of all tasks. Simulations with victims skip this
step.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np

from vc.messages.sessions import Amount, Reason, Stage, Unblock
from vc.model.values.resources import Resources
from vc.scheduling.model.node_table import Mask
from vc.scheduling.model.rows import GroupRow, Run
from vc.scheduling.placement.gang import (
    Missing,
    in_task_order,
    one_by_one,
    place_next,
    placement_key,
    refused_by_queue,
    tightest_first,
)
from vc.scheduling.placement.node_fit import Beside, and_also, does_not_fit
from vc.scheduling.session.reasons import not_placeable_yet
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement

SHORTAGES_MAX: Final = 16
"""Limit of the shortages that a reason lists. Most gangs have only a few tasks."""


class Shortage(NamedTuple):
    """The shortages of a gang."""

    lacking: list[Unblock]
    needed_pods: int
    placeable_pods: int
    amounts: tuple[Amount, ...]
    """Needed, available and missing amounts over all tasks."""


class ShortageCache:
    """Shortages by placement key, which contains the gang and the node capacity state."""

    def __init__(self, session: Session) -> None:
        del session
        self._known: dict[tuple[object, ...], Shortage] = {}

    def get(self, key: tuple[object, ...]) -> Shortage | None:
        """The shortages of an equal gang in the same state."""
        return self._known.get(key)

    def put(self, key: tuple[object, ...], shortage: Shortage) -> None:
        """Record the shortages of a gang."""
        self._known[key] = shortage


def with_other_tasks(session: Session, group: GroupRow, missing: Missing, reason: Reason) -> Reason:
    """The reason of the first task that does not fit, with the shortages of the other tasks.

    A reason that needs no such addition is returned unchanged.
    """
    alone = len(group.runs) < 2 and reason.stage in (Stage.GANG, Stage.PREDICATE)
    if alone or reason.unblock is None or group.key in session.reservations.waiting:
        return reason
    asked = placement_key(session, group, missing)
    cache = session.cached(ShortageCache)
    known = cache.get(asked)
    if known is None:
        known = _shortages(session, group, missing)
        # The placement of pods one by one depends on labels, which the key does not contain.
        if not any(one_by_one(session, group, run) for run in group.runs):
            cache.put(asked, known)
    whole = _of_whole_gang(reason, known) if len(group.runs) > 1 else reason
    return and_also(whole, _without_first(known.lacking, reason.unblock))


def _of_whole_gang(reason: Reason, found: Shortage) -> Reason:
    """The reason with the numbers of all tasks.

    A refusal by the queue keeps the queue's numbers.
    """
    if reason.stage not in (Stage.GANG, Stage.PREDICATE):
        return reason
    return msgspec.structs.replace(
        reason,
        sentence=(
            f"{found.placeable_pods} of the {found.needed_pods} pods of the gang fit; "
            f"of the first task that does not fit: {reason.sentence}"
        ),
        needed_pods=found.needed_pods,
        placeable_pods=found.placeable_pods,
        amounts=list(found.amounts),
    )


def _without_first(found: list[Unblock], said: Unblock) -> list[Unblock]:
    """The shortages without the one that the reason already states.

    Only one entry is removed, because another task may lack the same amounts again. A remedy
    without amounts and pods cannot add up, so all equal entries are removed.
    """
    if not (said.amounts or said.pods):
        return [other for other in found if other != said]
    for at, other in enumerate(found):
        if (other.action, other.target, other.amounts) == (said.action, said.target, said.amounts):
            return [*found[:at], *found[at + 1 :]]
    return found


def _shortages(session: Session, group: GroupRow, missing: Missing) -> Shortage:
    """The shortages of each task, with the tasks before it placed as far as they fit."""
    statement = Statement(session, group)
    found: list[Unblock] = []
    gang = _Gang(session)
    unplaced: list[tuple[Run, int]] = []
    """Pods that fit on no node. They still count for the quota of the queue."""
    for _, count, runs in tightest_first(session, in_task_order(session, group, missing)):
        left = count
        for run in runs:
            wanted = min(left, len(session.waiting_pods(run)))
            if wanted:
                left -= wanted
                waiting = len(session.waiting_pods(run))
                gang.wants(run, wanted)
                found += _lacks(session, group, run, wanted=wanted, statement=statement)
                # Pods that did not fit count as placed until the end. So the quota check of the
                # next task includes them, and no pod is counted for two parts of the minimum.
                unplaced.append((run, wanted - waiting + len(session.waiting_pods(run))))
                gang.placed += wanted - unplaced[-1][1]
                session.count_placed(group, run, pods=unplaced[-1][1])
        absent = not_placeable_yet(group, needed=count, lacking=left).unblock if left else None
        found += [] if absent is None else [absent]
    for run, pods in unplaced:
        session.count_placed(group, run, pods=-pods)
    statement.discard()
    return Shortage(
        lacking=found[:SHORTAGES_MAX],
        needed_pods=sum(count for _, count in missing),
        placeable_pods=gang.placed,
        amounts=gang.amounts(),
    )


class _Gang:
    """Adds up the requests of all tasks, and the free resources of nodes that any task may use."""

    def __init__(self, session: Session) -> None:
        self._node_capacity = session.node_capacity
        self._needed = Resources()
        self._masks: list[Mask] = []
        self.placed = 0

    def wants(self, run: Run, pods: int) -> None:
        """Add the requests of `pods` pods of a run."""
        self._masks.append(self._node_capacity.filtered(run.shape).mask)
        self._needed.add(run.shape.request, times=pods)

    def amounts(self) -> tuple[Amount, ...]:
        """The amounts over all tasks. Call it while no pod of the gang is placed."""
        if not self._masks:
            return ()
        idle = self._node_capacity.idle(np.logical_or.reduce(self._masks))
        columns = self._node_capacity.nodes.resources
        found: list[Amount] = []
        for name, needed in sorted(self._needed.items()):
            column = columns.get(name)
            free = 0 if column is None else sum(idle[:, column].tolist())
            found.append(
                Amount(resource=name, needed=needed, available=free, missing=max(0, needed - free))
            )
        return tuple(found)


def _lacks(
    session: Session, group: GroupRow, run: Run, *, wanted: int, statement: Statement
) -> list[Unblock]:
    """Remedies for the queue's quota, then for nodes. Pods that fit are placed afterwards."""
    queue = refused_by_queue(session, group, run.shape, count=wanted)
    if one_by_one(session, group, run):
        nodes = _put_each(session, run, wanted=wanted, statement=statement)
    else:
        nodes = _put(session, run, wanted=wanted, statement=statement)
    reasons = [reason for reason in (queue, nodes) if reason is not None]
    return [reason.unblock for reason in reasons if reason.unblock is not None]


def _put(session: Session, run: Run, *, wanted: int, statement: Statement) -> Reason | None:
    """Place as many of `wanted` pods as fit in one batch; return why the others do not fit."""
    fitting = session.node_capacity.placeable(run.shape, wanted)
    rows = session.node_capacity.place(run.shape, fitting) if fitting else None
    if rows is not None:
        statement.allocate(run, rows)
    if fitting == wanted:
        return None
    return does_not_fit(
        run.shape, wanted=wanted, placeable=fitting, node_capacity=session.node_capacity
    )


def _put_each(session: Session, run: Run, *, wanted: int, statement: Statement) -> Reason | None:
    """Place `wanted` pods one by one; return why the first one that does not fit is refused."""
    for placed in range(wanted):
        pod = session.waiting_pods(run)[0]
        refusal = session.framework.nodes.pre_predicate_refusal(session, pod)
        if refusal is not None:
            return refusal
        if not place_next(session, run, statement):
            beside = Beside(pod, session.pod_affinity, session.beside(pod))
            return does_not_fit(
                run.shape,
                wanted=wanted,
                placeable=placed,
                node_capacity=session.node_capacity,
                beside=beside,
            )
    return None
