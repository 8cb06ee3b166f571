"""preempt: a starving job takes the room of jobs of lower priority in its own queue.

Where that is not enough and a plugin says what is fair between them, jobs of equal priority give, too.

A job that asks for nothing but a place has only such pods evicted that ask for nothing either.
Then, inside a job: a waiting task of higher priority takes the place of tasks of lower priority, as long
as the gang keeps its minimums (`swaps.py`).
"""

import functools

from vc_scheduler.logic.actions.contenders import (
    WANT_ROOM,
    contenders,
    humble,
    question,
    wanted,
)
from vc_scheduler.logic.actions.equals import Equals
from vc_scheduler.logic.actions.surplus import surplus_waits
from vc_scheduler.logic.actions.swaps import Swap
from vc_scheduler.logic.evicting import Room
from vc_scheduler.logic.eviction.minimums import Minimums
from vc_scheduler.logic.eviction.victim_order import VictimOrder
from vc_scheduler.logic.leaving import could_help, reach_without
from vc_scheduler.logic.nominations import promise_to
from vc_scheduler.logic.placing import Missing, asks_for_nothing
from vc_scheduler.logic.reach import Reach
from vc_scheduler.logic.rows import PENDING, GroupRow, PodRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.trials import Trials
from vc_scheduler.logic.victims import Bundle, Permits, bundles
from vc_scheduler.logic.voters import PREEMPTABLE


def preempt(session: Session) -> None:
    """Between jobs of a queue, then inside jobs."""
    known: dict[tuple[str, int, bool], _Lower] = {}
    trials = Trials(session, lambda group: question(session, group))
    order = VictimOrder(session)
    for group in trials.among(contenders(session)):
        permits = _best_effort if humble(group) else _anybody
        asked = (group.queue, session.priority(group), humble(group))
        if asked not in known:
            known[asked] = _Lower(session, group, permits)
        lower, missing = known[asked], wanted(session, group)
        even = session.framework.voters.equals_yield and session.starving(group)
        if not even and not lower.may_help(group, missing):
            continue
        room = Room(session, group, missing, order=order, switch=PREEMPTABLE)
        made = room.make(lower.bundles) or (even and _from_equals(session, group, room, permits))
        trials.tried(group, helped=made)
        if made:
            known.clear()
    inside = Trials(session, lambda group: (group.key,))
    for group in inside.among(g for g in session.snapshot.groups if _may_swap(session, g)):
        _inside(session, group, inside, order)


class _Lower:
    """What jobs of the same queue and lower priority can give, for all who ask like one of them."""

    def __init__(self, session: Session, group: GroupRow, permits: Permits) -> None:
        self._session = session
        self._permits = permits
        least = session.priority(group)
        self._others = [
            other
            for other in session.snapshot.everybody.values()
            if other.queue == group.queue and other.placed and session.priority(other) < least
        ]

    def may_help(self, group: GroupRow, missing: Missing) -> bool:
        """Whether there was room if all of them went, and some may."""
        return (
            bool(self._others)
            and could_help(self._session, group, missing, self._reach)
            and bool(self.bundles)
        )

    @functools.cached_property
    def _reach(self) -> Reach:
        pods = [pod for other in self._others for pod in other.placed]
        return reach_without(self._session, pods)

    @functools.cached_property
    def bundles(self) -> list[Bundle]:
        """Found when somebody comes whom they could help: that costs."""
        return bundles(self._session, self._others, permits=self._permits, switch=PREEMPTABLE)


def _from_equals(session: Session, group: GroupRow, room: Room, permits: Permits) -> bool:
    """With what jobs of equal priority give, as far as that is fair."""
    equals = Equals(session, group, wanted(session, group))
    found = equals.found(permits)
    return bool(found) and room.make(found, rules=[Minimums(session).together, equals.together])


def _anybody(group: GroupRow, pod: PodRow) -> bool:
    del group, pod
    return True


def _best_effort(group: GroupRow, pod: PodRow) -> bool:
    del group
    return pod.shape.best_effort


def _may_swap(session: Session, group: GroupRow) -> bool:
    """Whether tasks of a job may change places: it runs, and nothing but room keeps the others waiting."""
    if group.key in session.promised_to or session.phase(group) == PENDING or not group.placed:
        return False
    if session.bound_now(group) or promise_to(group, session.snapshot.nominated) is not None:
        return False
    if group.key in session.snapshot.eviction_backoff:
        return False
    reason = session.refused.get(group.key)
    if reason is None:
        return bool(group.runs) and (session.starving(group) or not surplus_waits(session, group))
    return reason.stage in WANT_ROOM


def _inside(session: Session, group: GroupRow, trials: Trials, order: VictimOrder) -> None:
    """One task of higher priority takes the place of lower ones of its own job; one a session."""
    lowest = min(pod.priority for pod in group.placed)
    asked: dict[tuple[str, bytes, int], None] = {}
    for run in group.runs:
        kind = (run.role, run.shape.key, run.priority)
        if run.priority <= lowest or not run.pods[0].preempts or asks_for_nothing(run):
            continue
        if kind in asked or not session.reach.covers(group, [(run.role, 1)]):
            continue
        asked[kind] = None
        swap = Swap(session, group, run)
        found = swap.found()
        if not found:
            continue
        room = Room(session, group, [(run.role, 1)], order=order, switch=PREEMPTABLE)
        made = room.make(found, rules=[swap.together])
        trials.tried(group, helped=made)
        if made:
            return
