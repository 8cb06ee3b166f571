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

from vc.model.values.resources import Resources
from vc.scheduling.model.nominations import Nomination, gathered, nomination_of
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.placement.attempts import PreemptionAttempts
from vc.scheduling.placement.gang import (
    Missing,
    one_by_one,
    placement_key,
    try_minimum,
    why_no_fit,
)
from vc.scheduling.placement.simulated_removal import SimulatedRemoval
from vc.scheduling.reservations.nominated_nodes import place_on_nominated
from vc.scheduling.session.feasibility import empty_node_bound
from vc.scheduling.session.fifo import FifoOrder
from vc.scheduling.session.session import FOLLOW_UP_SECONDS, Session
from vc.scheduling.session.statement import Statement


class OpenReservation(NamedTuple):
    """A reservation in this session: the nomination, placed by a statement that is still open."""

    group: GroupRow
    nomination: Nomination
    statement: Statement


def yield_to_higher(
    session: Session,
    groups: list[GroupRow],
    held: list[OpenReservation],
    terminating: SimulatedRemoval,
) -> list[OpenReservation]:
    """Let jobs of higher priority take over reservations; return the reservations that remain."""
    preemption_attempts = PreemptionAttempts(
        session, lambda rival: _equivalence_key(session, rival)
    )
    for rival in preemption_attempts.among(_rivals(session, groups, held)):
        outranked = [entry for entry in held if _outranks(session, rival, entry.group)]
        missing = session.framework.jobs.missing(rival)
        if not outranked or why_no_fit(session, rival, missing) is None:
            continue  # no reservation stands in its way, or allocate can place it elsewhere
        # A job that does not fit on empty nodes would end all reservations only to restore them.
        if not session.cached(empty_node_bound).covers(rival, missing):
            continue
        takeover = _Takeover(session, rival, missing, terminating)
        kept = takeover.attempt(outranked)
        preemption_attempts.tried(rival, helped=takeover.succeeded)
        if takeover.succeeded:
            # The keys leave out node capacity, so after a change of it earlier failures
            # prove nothing.
            preemption_attempts.forget()
        # `kept` may contain the new reservation of the job itself and holders that still fit.
        others = [entry for entry in held if entry not in outranked]
        # The caller redeems in this order. The reservation of the job itself is the youngest.
        held = sorted([*others, *kept], key=_oldest_first)
    return held


def _rivals(
    session: Session, groups: list[GroupRow], held: list[OpenReservation]
) -> list[GroupRow]:
    """Waiting jobs with a higher priority than a holder in their queue, in job order.

    Jobs that allocate would not place now are left out: later jobs of a FIFO queue, and jobs of an
    overused queue.
    """
    nominated = session.snapshot.evictions.nominated
    found: list[GroupRow] = []
    begun: dict[str, None] = {}
    queues = {entry.group.queue: None for entry in held}
    fifo = FifoOrder(session)
    waiting = [
        group
        for group in groups
        if group.queue in queues
        # A job with a nomination has victims or reserved nodes of its own to wait for.
        and nomination_of(group, nominated) is None
        and session.starving(group)
    ]
    for group in sorted(
        waiting, key=lambda group: session.framework.order.job_order_key(session, group)
    ):
        queue = session.snapshot.queues[group.queue]
        first = queue.name not in begun
        begun[queue.name] = None
        # In a FIFO queue only the first job may be placed, and no job before it may wait for pods.
        if queue.fifo and (not first or fifo.before(group) is not None):
            continue
        if not any(_outranks(session, group, entry.group) for entry in held):
            continue
        if session.framework.queues.overused_refusal(session, queue) is None:
            found.append(group)
    return found


def _outranks(session: Session, rival: GroupRow, holder: GroupRow) -> bool:
    """Whether the job may take over the holder's reservation."""
    return (
        # Between queues the shares decide, and priorities of different queues are not compared.
        rival.queue == holder.queue
        and session.priority(rival) > session.priority(holder)
        and session.starving(holder)
    )


def _equivalence_key(session: Session, rival: GroupRow) -> tuple[object, ...]:
    """The equivalence key of a takeover attempt.

    The state of node capacity is left out: a failed attempt restores the capacity under a new id.
    """
    _, *asked = placement_key(session, rival, session.framework.jobs.missing(rival))
    alike = not any(one_by_one(session, rival, run) for run in rival.runs)
    return (*asked, session.priority(rival) if alike else rival.key)


class _Takeover:
    """The attempt of one job to take over reservations."""

    def __init__(
        self, session: Session, rival: GroupRow, missing: Missing, terminating: SimulatedRemoval
    ) -> None:
        self._session = session
        self._rival = rival
        self._missing = missing
        self._terminating = terminating
        self._ended_amounts = Resources()
        """Requests of the reservations that have ended so far. The job may not request more."""
        self._own: list[OpenReservation] = []
        """The job's own reservation, if it cannot be bound at once."""
        self.succeeded = False

    def attempt(self, outranked: list[OpenReservation]) -> list[OpenReservation]:
        """End as few of these reservations as needed, or none; return those that remain."""
        ended: list[OpenReservation] = []
        waiting = sorted(outranked, key=self._least_first)
        # One at a time, so that no more reservations end than the job needs.
        while waiting:
            ended.append(waiting.pop(0))
            self._ended_amounts.add(ended[-1].statement.amounts)
            ended[-1].statement.withdraw()
            # Binding now is better than another reservation: nothing can come in between.
            if self._now() or self._later():
                self.succeeded = True
                # Reservations end one by one until the job fits. Some of those that ended first may
                # not be needed, so they are placed again where possible.
                kept = [*self._own, *self._placed_again(ended)]
                lost = {entry.group.key: None for entry in ended}
                for entry in kept:
                    lost.pop(entry.group.key, None)
                if lost:
                    self._session.reservations.take_over(self._rival, list(lost))
                    self._session.wake(self._session.now + FOLLOW_UP_SECONDS)
                return [*waiting, *kept]
        # The job does not fit even without all of them, so every holder gets its nodes back.
        return self._placed_again(ended)

    def _least_first(self, entry: OpenReservation) -> tuple[int, float, int, str]:
        """Sort key: lowest priority first, then the youngest nomination."""
        since, after = entry.nomination.age
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
        # Victims were justified by the amounts of the holders. A larger job would use more of the
        # queue's share than any eviction was made for.
        within = statement.amounts.fits_in(self._ended_amounts)
        if not within:
            statement.discard()
        return within

    def _later(self) -> bool:
        """Reserve nodes for the job, if it fits once terminating pods are gone."""
        session, rival = self._session, self._rival
        self._terminating.remove()
        statement = Statement(session, rival)
        fits = self._placed(statement)
        if fits:
            names = session.snapshot.nodes.static.names
            nodes = ((p.task, p.shape.key, names[row]) for p, row in statement.placements)
            self._own = [OpenReservation(rival, gathered(nodes, since=session.now), statement)]
        # Without a placement the earlier capacity states return, and results cached for them are
        # valid again.
        self._terminating.restore(kept=fits)
        return fits

    def _placed_again(self, ended: list[OpenReservation]) -> list[OpenReservation]:
        """Place the ended reservations again whose nodes are still free, oldest first."""
        kept: list[OpenReservation] = []
        self._terminating.remove()
        for group, nominated, _ in sorted(ended, key=_oldest_first):
            statement = Statement(self._session, group)
            if place_on_nominated(self._session, group, nominated, statement):
                kept.append(OpenReservation(group, nominated, statement))
        self._terminating.restore(kept=True)
        return kept


def _oldest_first(entry: OpenReservation) -> tuple[tuple[float, int], str]:
    """Sort key: the oldest nomination first."""
    return (entry.nomination.age, entry.group.key)
