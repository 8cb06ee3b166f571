"""A job of higher priority in the same queue takes over reservations.

A job may take over a reservation if it does not fit elsewhere. Without a takeover, the holder would
be bound first, only to become a victim of the job. The job is bound on the reserved nodes, or it
reserves them until terminating pods are gone. So every victim is evicted for a job that runs: the
original preemptor, or a job that comes before it.

As few reservations as possible end, lowest priority and youngest first. A holder whose nominated
nodes are still free afterwards keeps its reservation. The job must request no more than the
reservations that it takes over. Otherwise its queue would grow beyond the amount that justified the
evictions.

Between queues, shares decide, so resources that were reclaimed for one queue are not taken over by
priority from another queue. Resources that were freed by preemption within a job are not taken over
either.
"""

from typing import NamedTuple

from vc.scheduling.eviction.attempts import PreemptionAttempts
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.nominations import Nomination, gathered, nomination_of
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.placement.gang import Missing, one_by_one, question_of, try_minimum, why_no_fit
from vc.scheduling.placement.nominated_nodes import place_on_nominated
from vc.scheduling.placement.simulated_removal import SimulatedRemoval
from vc.scheduling.session.fifo import FifoOrder
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement


class Held(NamedTuple):
    """A reservation in this session: the nomination, placed by a statement that is still open."""

    group: GroupRow
    promised: Nomination
    statement: Statement


def yield_to_higher(
    session: Session, groups: list[GroupRow], held: list[Held], away: SimulatedRemoval
) -> list[Held]:
    """Let jobs of higher priority take over reservations; return the reservations that remain."""
    preemption_attempts = PreemptionAttempts(session, lambda rival: _question(session, rival))
    for rival in preemption_attempts.among(_rivals(session, groups, held)):
        outranked = [entry for entry in held if _outranks(session, rival, entry.group)]
        missing = session.framework.jobs.missing(rival)
        if not outranked or why_no_fit(session, rival, missing) is None:
            continue  # no reservation stands in its way, or allocate can place it elsewhere
        if not session.reach.covers(rival, missing):
            continue
        takeover = _Takeover(session, rival, missing, away)
        kept = takeover.attempt(outranked)
        preemption_attempts.tried(rival, helped=takeover.succeeded)
        if takeover.succeeded:
            preemption_attempts.forget()
        # `kept` may contain the new reservation of the job itself and holders that still fit.
        others = [entry for entry in held if entry not in outranked]
        held = sorted([*others, *kept], key=_oldest_first)
    return held


def _rivals(session: Session, groups: list[GroupRow], held: list[Held]) -> list[GroupRow]:
    """Waiting jobs with a higher priority than a holder in their queue, in job order.

    Jobs that allocate would not place now are left out: later jobs of a FIFO queue, and jobs of an
    overused queue.
    """
    promised = session.snapshot.evictions.nominated
    found: list[GroupRow] = []
    begun: dict[str, None] = {}
    queues = {entry.group.queue: None for entry in held}
    line = FifoOrder(session)
    waiting = [
        group
        for group in groups
        if group.queue in queues
        and nomination_of(group, promised) is None
        and session.starving(group)
    ]
    for group in sorted(
        waiting, key=lambda group: session.framework.order.job_order_key(session, group)
    ):
        queue = session.snapshot.queues[group.queue]
        first = queue.name not in begun
        begun[queue.name] = None
        # In a FIFO queue only the first job may be placed, and no job before it may wait for pods.
        if queue.fifo and (not first or line.before(group) is not None):
            continue
        if not any(_outranks(session, group, entry.group) for entry in held):
            continue
        if session.framework.queues.overused_refusal(session, queue) is None:
            found.append(group)
    return found


def _outranks(session: Session, rival: GroupRow, holder: GroupRow) -> bool:
    """Whether the job may take over the holder's reservation."""
    return (
        rival.queue == holder.queue
        and session.priority(rival) > session.priority(holder)
        and session.starving(holder)
    )


def _question(session: Session, rival: GroupRow) -> tuple[object, ...]:
    """The equivalence key of a takeover attempt.

    The state of node capacity is left out: a failed attempt restores the capacity under a new id.
    """
    _, *asked = question_of(session, rival, session.framework.jobs.missing(rival))
    alike = not any(one_by_one(session, rival, run) for run in rival.runs)
    return (*asked, session.priority(rival) if alike else rival.key)


class _Takeover:
    """The attempt of one job to take over reservations."""

    def __init__(
        self, session: Session, rival: GroupRow, missing: Missing, away: SimulatedRemoval
    ) -> None:
        self._session = session
        self._rival = rival
        self._missing = missing
        self._away = away
        self._promised: Amounts = {}
        """Requests of the reservations that have ended so far. The job may not request more."""
        self._own: list[Held] = []
        """The job's own reservation, if it cannot be bound at once."""
        self.succeeded = False

    def attempt(self, outranked: list[Held]) -> list[Held]:
        """End as few of these reservations as needed, or none; return those that remain."""
        ended: list[Held] = []
        waiting = sorted(outranked, key=self._least_first)
        while waiting:
            ended.append(waiting.pop(0))
            for name, amount in ended[-1].statement.amounts.items():
                self._promised[name] = self._promised.get(name, 0) + amount
            ended[-1].statement.withdraw()
            if self._now() or self._later():
                self.succeeded = True
                # Reservations end one by one until the job fits. Some of those that ended first may
                # not be needed, so they are placed again where possible.
                kept = [*self._own, *self._held_again(ended)]
                lost = {entry.group.key: None for entry in ended}
                for entry in kept:
                    lost.pop(entry.group.key, None)
                if lost:
                    self._session.take_over(self._rival, list(lost))
                return [*waiting, *kept]
        return self._held_again(ended)

    def _least_first(self, entry: Held) -> tuple[int, float, int, str]:
        """Sort key: lowest priority first, then the youngest nomination."""
        since, after = entry.promised.age
        return (self._session.priority(entry.group), -since, -after, entry.group.key)

    def _now(self) -> bool:
        """Bind the job, if it fits on resources that are free already."""
        statement = Statement(self._session, self._rival)
        if not self._placed(statement):
            return False
        statement.commit()
        return True

    def _placed(self, statement: Statement) -> bool:
        """Place the minimum; return whether it fits within the ended reservations."""
        if try_minimum(self._session, self._rival, self._missing, statement) is not None:
            return False
        within = all(
            amount <= self._promised.get(name, 0) for name, amount in statement.amounts.items()
        )
        if not within:
            statement.discard()
        return within

    def _later(self) -> bool:
        """Reserve nodes for the job, if it fits once terminating pods are gone."""
        session, rival = self._session, self._rival
        self._away.go()
        statement = Statement(session, rival)
        fits = self._placed(statement)
        if fits:
            names = session.snapshot.nodes.static.names
            told = ((pod.task, pod.shape.key, names[row]) for pod, row in statement.lying)
            self._own = [Held(rival, gathered(told, since=session.now), statement)]
        self._away.back(kept=fits)
        return fits

    def _held_again(self, ended: list[Held]) -> list[Held]:
        """Place the ended reservations again whose nodes are still free, oldest first."""
        kept: list[Held] = []
        self._away.go()
        for group, promised, _ in sorted(ended, key=_oldest_first):
            statement = Statement(self._session, group)
            if place_on_nominated(self._session, group, promised, statement):
                kept.append(Held(group, promised, statement))
        self._away.back(kept=True)
        return kept


def _oldest_first(entry: Held) -> tuple[tuple[float, int], str]:
    """Sort key: the oldest nomination first."""
    return (entry.promised.age, entry.group.key)
