"""Promised room yields to a job of the same queue that has a higher priority.

Such a job may take the room over, if it finds none elsewhere: the one it was promised to would be its victim
as soon as it ran. It is bound there, or the promise becomes its own until the pods that leave are gone, so
whoever was evicted leaves for a job that runs: for the one they were asked to leave for, or for one that
goes before it. As few promises as possible end, those of the lowest priority and the youngest first, and a
job whose places are still free afterwards keeps them. It must fit into what was promised: a job that asks
for more would grow its queue beyond what made the evictions right.

Between queues it is shares that count: what was reclaimed for one queue is not taken back by another's
priority. Nor is room that a running job's own task has left for a more important one of the same job.
"""

from typing import NamedTuple

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.in_line import Line
from vc_scheduler.logic.leaving import Leaving
from vc_scheduler.logic.nominations import Nomination, gathered, promise_to
from vc_scheduler.logic.places import try_places
from vc_scheduler.logic.placing import (
    Missing,
    one_by_one,
    question_of,
    try_minimum,
    why_no_room,
)
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement
from vc_scheduler.logic.trials import Trials


class Held(NamedTuple):
    """A promise that is held."""

    group: GroupRow
    promised: Nomination
    statement: Statement


def yield_to_higher(
    session: Session, groups: list[GroupRow], held: list[Held], away: Leaving
) -> list[Held]:
    """Give promised room to those that outrank its holders; the promises that are left."""
    trials = Trials(session, lambda rival: _question(session, rival))
    for rival in trials.among(_rivals(session, groups, held)):
        outranked = [entry for entry in held if _outranks(session, rival, entry.group)]
        missing = session.framework.missing(rival)
        if not outranked or why_no_room(session, rival, missing) is None:
            continue  # nobody is in its way, or it finds room in its turn
        if not session.reach.covers(rival, missing):
            continue
        takeover = _Takeover(session, rival, missing, away)
        kept = takeover.attempt(outranked)
        trials.tried(rival, helped=takeover.succeeded)
        if takeover.succeeded:
            trials.forget()
        others = [entry for entry in held if entry not in outranked]
        held = sorted([*others, *kept], key=_oldest_first)
    return held


def _rivals(session: Session, groups: list[GroupRow], held: list[Held]) -> list[GroupRow]:
    """Waiting jobs that outrank a holder and may have a turn, in job order."""
    promised = session.snapshot.nominated
    found: list[GroupRow] = []
    begun: dict[str, None] = {}
    queues = {entry.group.queue: None for entry in held}
    line = Line(session)
    waiting = [
        group
        for group in groups
        if group.queue in queues and promise_to(group, promised) is None and session.starving(group)
    ]
    for group in sorted(waiting, key=lambda group: session.framework.job_key(session, group)):
        queue = session.snapshot.queues[group.queue]
        first = queue.name not in begun
        begun[queue.name] = None
        if queue.fifo and (not first or line.before(group) is not None):
            continue
        if not any(_outranks(session, group, entry.group) for entry in held):
            continue
        if session.framework.voters.refuse_turn(session, queue) is None:
            found.append(group)
    return found


def _outranks(session: Session, rival: GroupRow, holder: GroupRow) -> bool:
    return (
        rival.queue == holder.queue
        and session.priority(rival) > session.priority(holder)
        and session.starving(holder)
    )


def _question(session: Session, rival: GroupRow) -> tuple[object, ...]:
    """What it depends on whether promised room is of use to it. The rooms are as they were after each
    attempt that fails, though by another number."""
    _, *asked = question_of(session, rival, session.framework.missing(rival))
    alike = not any(one_by_one(session, rival, run) for run in rival.runs)
    return (*asked, session.priority(rival) if alike else rival.key)


class _Takeover:
    """One job's try to lie where others were promised room."""

    def __init__(self, session: Session, rival: GroupRow, missing: Missing, away: Leaving) -> None:
        self._session = session
        self._rival = rival
        self._missing = missing
        self._away = away
        self._promised: Amounts = {}
        """What the promises that have ended spoke of."""
        self._own: list[Held] = []
        """The promise that takes their place, if it is not bound at once."""
        self.succeeded = False

    def attempt(self, outranked: list[Held]) -> list[Held]:
        """End as few of these promises as it takes, or none; those that go on."""
        ended: list[Held] = []
        waiting = sorted(outranked, key=self._least_first)
        while waiting:
            ended.append(waiting.pop(0))
            for name, amount in ended[-1].statement.amounts.items():
                self._promised[name] = self._promised.get(name, 0) + amount
            ended[-1].statement.withdraw()
            if self._now() or self._later():
                self.succeeded = True
                kept = [*self._own, *self._held_again(ended)]
                lost = {entry.group.key: None for entry in ended}
                for entry in kept:
                    lost.pop(entry.group.key, None)
                if lost:
                    self._session.take_over(self._rival, list(lost))
                return [*waiting, *kept]
        return self._held_again(ended)

    def _least_first(self, entry: Held) -> tuple[int, float, int, str]:
        since, after = entry.promised.age
        return (self._session.priority(entry.group), -since, -after, entry.group.key)

    def _now(self) -> bool:
        """Bind it, where room is free already."""
        statement = Statement(self._session, self._rival)
        if not self._placed(statement):
            return False
        statement.commit()
        return True

    def _placed(self, statement: Statement) -> bool:
        """Whether the whole minimum lies somewhere and asks for no more than was promised."""
        if try_minimum(self._session, self._rival, self._missing, statement) is not None:
            return False
        within = all(
            amount <= self._promised.get(name, 0) for name, amount in statement.amounts.items()
        )
        if not within:
            statement.discard()
        return within

    def _later(self) -> bool:
        """Promise it the room, where pods leave."""
        session, rival = self._session, self._rival
        self._away.go()
        statement = Statement(session, rival)
        fits = self._placed(statement)
        if fits:
            names = session.snapshot.nodes.static.names
            told = ((pod.role, pod.shape.key, names[row]) for pod, row in statement.lying)
            self._own = [Held(rival, gathered(told, since=session.now), statement)]
        self._away.back(kept=fits)
        return fits

    def _held_again(self, ended: list[Held]) -> list[Held]:
        """Those of them whose places are free, oldest first as they were held before."""
        kept: list[Held] = []
        self._away.go()
        for group, promised, _ in sorted(ended, key=_oldest_first):
            statement = Statement(self._session, group)
            if try_places(self._session, group, promised, statement):
                kept.append(Held(group, promised, statement))
        self._away.back(kept=True)
        return kept


def _oldest_first(entry: Held) -> tuple[tuple[float, int], str]:
    return (entry.promised.age, entry.group.key)
