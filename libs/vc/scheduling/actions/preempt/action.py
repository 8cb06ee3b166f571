"""preempt: evict pods of lower priority in the same queue for a starving job.

If that is not enough, and a plugin defines fairness between jobs of equal priority, surplus pods of
jobs of equal priority are victims too (`equal_priority.py`). For a best-effort preemptor, only
best-effort pods are evicted.

Afterwards, preemption within a job: pods of lower priority are evicted for a waiting task of higher
priority of the same job, as long as the gang keeps its minimums (`within_job.py`).
"""

import functools

from vc.scheduling.actions.preempt.equal_priority import EqualPriorityVictims
from vc.scheduling.actions.preempt.preemptors import (
    EVICTION_CAN_HELP,
    equivalence_key,
    find_preemptors,
    is_best_effort,
    wanted,
)
from vc.scheduling.actions.preempt.within_job import WithinJobVictims
from vc.scheduling.actions.surplus_delay import surplus_waits
from vc.scheduling.eviction.search import VictimEviction
from vc.scheduling.eviction.victim_order import VictimOrder
from vc.scheduling.eviction.victims import Bundle, Minimums, Permits, bundles
from vc.scheduling.framework.eviction_points import PREEMPTABLE
from vc.scheduling.model.nominations import nomination_of
from vc.scheduling.model.rows import PENDING, GroupRow, PodRow
from vc.scheduling.placement.attempts import PreemptionAttempts
from vc.scheduling.placement.gang import Missing, is_best_effort_run
from vc.scheduling.placement.simulated_removal import could_help, feasibility_without
from vc.scheduling.session.feasibility import FeasibilityBound, empty_node_bound
from vc.scheduling.session.session import Session


def preempt(session: Session) -> None:
    """Preempt between jobs of a queue, then within jobs."""
    known: dict[tuple[str, int, bool], _Lower] = {}
    preemption_attempts = PreemptionAttempts(session, lambda group: equivalence_key(session, group))
    order = VictimOrder(session)
    for group in preemption_attempts.among(find_preemptors(session)):
        permits = _best_effort if is_best_effort(group) else _any_pod
        # Preemptors of one queue and priority share the potential victims, so these are found once.
        asked = (group.queue, session.priority(group), is_best_effort(group))
        if asked not in known:
            known[asked] = _Lower(session, group, permits)
        lower, missing = known[asked], wanted(session, group)
        even = session.framework.evictions.equal_priority_enabled and session.starving(group)
        if not even and not lower.may_help(group, missing):
            continue
        eviction = VictimEviction(session, group, missing, order=order, switch=PREEMPTABLE)
        # Jobs of equal priority are considered only if victims of lower priority do not suffice.
        made = eviction.evict(lower.bundles) or (
            even and _from_equal_priority(session, group, eviction, permits)
        )
        preemption_attempts.tried(group, helped=made)
        if made:
            known.clear()  # the new victims must not be offered again
    within = PreemptionAttempts(session, lambda group: (group.key,))
    for group in within.among(
        g for g in session.snapshot.groups if _may_preempt_within(session, g)
    ):
        _preempt_within(session, group, within, order)


class _Lower:
    """Potential victims of lower priority in one queue, shared by preemptors of equal priority."""

    def __init__(self, session: Session, group: GroupRow, permits: Permits) -> None:
        self._session = session
        self._permits = permits
        least = session.priority(group)
        self._others = [
            other
            for other in session.snapshot.all_groups.values()
            if other.queue == group.queue and other.placed and session.priority(other) < least
        ]

    def may_help(self, group: GroupRow, missing: Missing) -> bool:
        """Whether the preemptor could fit without these jobs, and some of their pods are evictable.

        The feasibility bound is checked first, because finding the evictable pods costs more.
        """
        return (
            bool(self._others)
            and could_help(self._session, group, missing, self._bound)
            and bool(self.bundles)
        )

    @functools.cached_property
    def _bound(self) -> FeasibilityBound:
        """The feasibility bound without all pods of these jobs."""
        pods = [pod for other in self._others for pod in other.placed]
        return feasibility_without(self._session, pods)

    @functools.cached_property
    def bundles(self) -> list[Bundle]:
        """The evictable pods in bundles, computed on first use because it is expensive."""
        return bundles(self._session, self._others, permits=self._permits, switch=PREEMPTABLE)


def _from_equal_priority(
    session: Session, group: GroupRow, eviction: VictimEviction, permits: Permits
) -> bool:
    """Search again, with surplus pods of jobs of equal priority as victims, as far as fair."""
    victims = EqualPriorityVictims(session, group, wanted(session, group))
    found = victims.found(permits)
    rules = [Minimums(session).together, victims.together]
    return bool(found) and eviction.evict(found, rules=rules)


def _any_pod(group: GroupRow, pod: PodRow) -> bool:
    """Permit every pod as a victim."""
    del group, pod
    return True


def _best_effort(group: GroupRow, pod: PodRow) -> bool:
    """Permit only best-effort pods as victims."""
    del group
    return pod.shape.best_effort


def _may_preempt_within(session: Session, group: GroupRow) -> bool:
    """Whether preemption within the job is possible.

    The job must have pods on nodes and neither a reservation nor new binds, and its waiting pods
    must wait only for free resources.
    """
    if (
        group.key in session.reservations.waiting
        or session.phase(group) == PENDING
        or not group.placed
    ):
        return False
    if (
        session.bound_now(group)
        or nomination_of(group, session.snapshot.evictions.nominated) is not None
    ):
        return False
    if group.key in session.snapshot.evictions.eviction_backoff:
        return False
    reason = session.refused.get(group.key)
    if reason is None:
        return bool(group.runs) and (session.starving(group) or not surplus_waits(session, group))
    return reason.stage in EVICTION_CAN_HELP


def _preempt_within(
    session: Session, group: GroupRow, preemption_attempts: PreemptionAttempts, order: VictimOrder
) -> None:
    """Evict pods of a job for one waiting pod of higher priority of the same job.

    At most one waiting pod per job and session is helped.
    """
    lowest = min(pod.priority for pod in group.placed)
    asked: dict[tuple[str, bytes, int], None] = {}
    for run in group.runs:
        kind = (run.task, run.shape.key, run.priority)
        if run.priority <= lowest or not run.pods[0].preempts or is_best_effort_run(run):
            continue
        # Pods of one kind have the same result, so each kind is tried once.
        if kind in asked or not session.cached(empty_node_bound).covers(group, [(run.task, 1)]):
            continue
        asked[kind] = None
        victims = WithinJobVictims(session, group, run)
        found = victims.found()
        if not found:
            continue
        missing: Missing = [(run.task, 1)]
        eviction = VictimEviction(session, group, missing, order=order, switch=PREEMPTABLE)
        made = eviction.evict(found, rules=[victims.together])
        preemption_attempts.tried(group, helped=made)
        if made:
            return
