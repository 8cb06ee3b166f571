"""What all tasks of a gang lack, not only the first that does not fit.

A decision ends at the first task that finds no room: that is all it takes to refuse. People who make room for
that task would then meet the next one. So a gang of several tasks that was refused is looked at once more:
as many pods of each task as fit are put on nodes, whatever its queue says, and what the others lack is
proposed together with what the first lacks. Trials with victims do without.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np

from vc_messages.sessions import Amount, Reason, Stage, Unblock
from vc_scheduler.logic.misfits import Beside, and_also, does_not_fit
from vc_scheduler.logic.placing import (
    Missing,
    in_task_order,
    one_by_one,
    place_next,
    question_of,
    refused_by_queue,
    tightest_first,
)
from vc_scheduler.logic.reasons import not_placeable_yet
from vc_scheduler.logic.rows import GroupRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement
from vc_scheduler.logic.table import Mask

SHORTAGES_MAX: Final = 16
"""Tasks of one gang that are named; gangs have a handful."""


class Shortage(NamedTuple):
    """What the tasks of a gang lack."""

    lacking: list[Unblock]
    needed_pods: int
    placeable_pods: int
    amounts: tuple[Amount, ...]
    """Over all tasks."""


def with_other_tasks(session: Session, group: GroupRow, missing: Missing, reason: Reason) -> Reason:
    """The reason of the first task that finds no room, with what the others lack."""
    alone = len(group.runs) < 2 and reason.stage in (Stage.GANG, Stage.PREDICATE)
    if alone or reason.unblock is None or group.key in session.promised_to:
        return reason
    asked = question_of(session, group, missing)
    known = session.shortages.get(asked)
    if known is None:
        known = _shortages(session, group, missing)
        if not any(one_by_one(session, group, run) for run in group.runs):
            session.shortages[asked] = known
    whole = _of_whole_gang(reason, known) if len(group.runs) > 1 else reason
    return and_also(whole, _without_first(known.lacking, reason.unblock))


def _of_whole_gang(reason: Reason, found: Shortage) -> Reason:
    """With the numbers of all tasks; a refusal by its queue speaks of the queue's."""
    if reason.stage not in (Stage.GANG, Stage.PREDICATE):
        return reason
    return msgspec.structs.replace(
        reason,
        sentence=(
            f"{found.placeable_pods} of the {found.needed_pods} pods of the gang find room; "
            f"of the first task that does not fit: {reason.sentence}"
        ),
        needed_pods=found.needed_pods,
        placeable_pods=found.placeable_pods,
        amounts=list(found.amounts),
    )


def _without_first(found: list[Unblock], said: Unblock) -> list[Unblock]:
    """Without what the reason says itself; another task may lack the very same once more, unless it is
    nothing that one could have more of."""
    if not (said.amounts or said.pods):
        return [other for other in found if other != said]
    for at, other in enumerate(found):
        if (other.action, other.target, other.amounts) == (said.action, said.target, said.amounts):
            return [*found[:at], *found[at + 1 :]]
    return found


def _shortages(session: Session, group: GroupRow, missing: Missing) -> Shortage:
    """What each task lacks when those before it lie where they fit."""
    statement = Statement(session, group)
    found: list[Unblock] = []
    gang = _Gang(session)
    nowhere: list[tuple[Run, int]] = []
    """Pods that lie nowhere, and count for their queue all the same."""
    for _, count, runs in tightest_first(session, in_task_order(session, group, missing)):
        left = count
        for run in runs:
            wanted = min(left, len(session.waiting_pods(run)))
            if wanted:
                left -= wanted
                waiting = len(session.waiting_pods(run))
                gang.wants(run, wanted)
                found += _lacks(session, group, run, wanted=wanted, statement=statement)
                nowhere.append((run, wanted - waiting + len(session.waiting_pods(run))))
                gang.placed += wanted - nowhere[-1][1]
                session.count_placed(group, run, pods=nowhere[-1][1])
        absent = not_placeable_yet(group, needed=count, lacking=left).unblock if left else None
        found += [] if absent is None else [absent]
    for run, pods in nowhere:
        session.count_placed(group, run, pods=-pods)
    statement.discard()
    return Shortage(
        lacking=found[:SHORTAGES_MAX],
        needed_pods=sum(count for _, count in missing),
        placeable_pods=gang.placed,
        amounts=gang.amounts(),
    )


class _Gang:
    """Adds up what all tasks need, and what is free on nodes that any of them may go to."""

    def __init__(self, session: Session) -> None:
        self._rooms = session.rooms
        self._needed: dict[str, int] = {}
        self._masks: list[Mask] = []
        self.placed = 0

    def wants(self, run: Run, pods: int) -> None:
        """So many pods of a run."""
        self._masks.append(self._rooms.filtered(run.shape).mask)
        for name, amount in run.shape.request:
            self._needed[name] = self._needed.get(name, 0) + amount * pods

    def amounts(self) -> tuple[Amount, ...]:
        """Asked when nothing of the gang lies anywhere."""
        if not self._masks:
            return ()
        idle = self._rooms.idle(np.logical_or.reduce(self._masks))
        columns = self._rooms.nodes.resources
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
    """Of its queue, then of nodes; those that fit lie there afterwards."""
    queue = refused_by_queue(session, group, run.shape, count=wanted)
    if one_by_one(session, group, run):
        room = _put_each(session, run, wanted=wanted, statement=statement)
    else:
        room = _put(session, run, wanted=wanted, statement=statement)
    reasons = [reason for reason in (queue, room) if reason is not None]
    return [reason.unblock for reason in reasons if reason.unblock is not None]


def _put(session: Session, run: Run, *, wanted: int, statement: Statement) -> Reason | None:
    fitting = session.rooms.placeable(run.shape, wanted)
    rows = session.rooms.place(run.shape, fitting) if fitting else None
    if rows is not None:
        statement.allocate(run, rows)
    if fitting == wanted:
        return None
    return does_not_fit(run.shape, wanted=wanted, placeable=fitting, rooms=session.rooms)


def _put_each(session: Session, run: Run, *, wanted: int, statement: Statement) -> Reason | None:
    for placed in range(wanted):
        pod = session.waiting_pods(run)[0]
        refusal = session.framework.voters.refuse_pod(session, pod)
        if refusal is not None:
            return refusal
        if not place_next(session, run, statement):
            beside = Beside(pod, session.peers, session.beside(pod))
            return does_not_fit(
                run.shape, wanted=wanted, placeable=placed, rooms=session.rooms, beside=beside
            )
    return None
