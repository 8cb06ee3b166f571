"""reclaim: evict pods of queues above their deserved share for a job of a queue below its share.

The plugin that computes deserved shares also has the rules for claimant and victim queues
(`plugins/queue_shares/reclaim_rules.py`). Independent of these rules, a victim queue keeps its
guarantee, and a queue that is not reclaimable has no victims. Common ancestors of claimant and
victim queue have the same amounts before and after, so they are not checked.
"""

import functools
from collections.abc import Iterator, Sequence

from vc.model.values.resources import Resources
from vc.scheduling.actions.job_order import JobOrder
from vc.scheduling.actions.preempt.preemptors import equivalence_key, find_preemptors, wanted
from vc.scheduling.eviction.search import VictimEviction
from vc.scheduling.eviction.victim_order import VictimOrder
from vc.scheduling.eviction.victims import Bundle, Minimums, bundles
from vc.scheduling.framework.eviction_points import RECLAIMABLE
from vc.scheduling.framework.queue_points import DeservedShares
from vc.scheduling.model.amounts import NOT_REQUESTED
from vc.scheduling.model.rows import GroupRow, PodRow, QueueRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.placement.attempts import PreemptionAttempts
from vc.scheduling.placement.gang import Missing, is_best_effort_run
from vc.scheduling.placement.simulated_removal import could_help, feasibility_without
from vc.scheduling.plugins.queue_shares.reclaim_rules import reclaim_rule
from vc.scheduling.plugins.queue_shares.tree import share_of
from vc.scheduling.session.feasibility import FeasibilityBound
from vc.scheduling.session.session import Session


def reclaim(session: Session) -> None:
    """Reclaim for preemptors in queue and job order.

    Does nothing if no plugin computes deserved shares.
    """
    shares = session.framework.queues.shares
    if shares is None:
        return
    preemption_attempts = PreemptionAttempts(session, lambda group: equivalence_key(session, group))
    shared = _SharedResults(session)
    order = VictimOrder(session)
    for group in preemption_attempts.among(
        _by_turns(JobOrder(session, find_preemptors(session)), preemption_attempts)
    ):
        # Shares change with every placement and eviction, so each attempt reads them again.
        attempt = _Reclaim(session, group, shares, shared, order)
        # The rules and the feasibility bound are cheap, and they save most failing simulations.
        if not attempt.may_take() or not attempt.could_help():
            preemption_attempts.fails(group)
            continue
        made = attempt.run()
        preemption_attempts.tried(group, helped=made)
        if made:
            shared.forget()


def _by_turns(turns: JobOrder, preemption_attempts: PreemptionAttempts) -> Iterator[GroupRow]:
    """Preemptors in queue and job order, without those whose equivalence key failed before.

    A skipped job does not count as a turn of its queue.
    """
    group = turns.next()
    while group is not None:
        if preemption_attempts.failed_before(group):
            group = turns.instead(group)
            continue
        yield group
        turns.done(group)
        group = turns.next()


_Kind = tuple[str, bytes]
"""The queue and the pod shape of pods that are interchangeable for the reclaim rules."""


class _SharedResults:
    """Results shared by the preemptors of the action. They are valid until pods are evicted."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shapes: dict[str, dict[bytes, Shape]] = {}
        self._by_queue: dict[str, list[Bundle]] = {}
        self.bounds: dict[tuple[object, ...], FeasibilityBound | None] = {}
        """Feasibility bound without all pods of the victim queues, by `_Reclaim._asking`."""
        self.found: dict[tuple[object, ...], tuple[VictimOrder, list[Bundle]]] = {}
        """Potential victims and their order, by `_Reclaim._asking`."""

    def shapes_in(self, queue: str) -> dict[bytes, Shape]:
        """Shapes of the pods on nodes of a queue's jobs, by key. Evictions do not change them."""
        if not self._shapes:
            for group in self._session.snapshot.all_groups.values():
                shapes = self._shapes.setdefault(group.queue, {})
                shapes.update({pod.shape.key: pod.shape for pod in group.placed})
        return self._shapes.get(queue, {})

    def of(self, queue: str) -> list[Bundle]:
        """Bundles of evictable pods of a queue's jobs, in no order."""
        known = self._by_queue.get(queue)
        if known is None:
            groups = self._session.snapshot.all_groups.values()
            # Bundles of a queue do not depend on the claimant, so all preemptors of the
            # action share them.
            others = [other for other in groups if other.placed and other.queue == queue]
            known = bundles(self._session, others, permits=_any_pod, switch=RECLAIMABLE)
            self._by_queue[queue] = known
        return known

    def forget(self) -> None:
        """Drop results that an eviction invalidates."""
        self._by_queue.clear()
        self.bounds.clear()
        self.found.clear()


class _Reclaim:
    """The reclaim attempt of one preemptor."""

    def __init__(
        self,
        session: Session,
        group: GroupRow,
        shares: DeservedShares,
        shared: _SharedResults,
        order: VictimOrder,
    ) -> None:
        self._session = session
        self._group = group
        self._shared = shared
        self._order = order
        self._deserved = shares.deserved_shares(session)
        # What moves within a common ancestor leaves its amounts as they are, so these queues are
        # neither victim queues nor limits.
        self._names = {row.name: None for row in session.accounts.ancestors(group.queue)}
        self._missing = wanted(session, group)
        self._needed = _needed(group, self._missing)
        # The rule is asked about the missing pods only. What the job has already is in its
        # queue's amounts.
        self._rule = reclaim_rule(shares, session, group.queue, self._needed)
        self._free = not session.framework.queues.preemptive

    def may_take(self) -> bool:
        """Whether the preemptor's queue may reclaim for this job. True if no plugin limits it."""
        return self._free or self._rule.may_reclaim()

    def could_help(self) -> bool:
        """Whether the job could fit without all pods of the victim queues; an upper bound."""
        if self._asking not in self._shared.bounds:
            self._shared.bounds[self._asking] = self._bound()
        bound = self._shared.bounds[self._asking]
        return bound is not None and could_help(self._session, self._group, self._missing, bound)

    def _bound(self) -> FeasibilityBound | None:
        """The feasibility bound without all pods of the victim queues.

        None if there are neither victim queues nor terminating pods.
        """
        victim_queues = {queue: None for queue, _ in self._willing}
        # Without anything that could be freed, the bound would be that of allocate, which
        # has failed.
        if not victim_queues and not self._others_terminate():
            return None
        groups = self._session.snapshot.all_groups.values()
        pods = [pod for other in groups if other.queue in victim_queues for pod in other.placed]
        return feasibility_without(self._session, pods)

    def run(self) -> bool:
        """Evict victims and reserve their resources for the job; return whether that succeeded."""
        if self._asking not in self._shared.found:
            self._shared.found[self._asking] = self._found()
        # Preemptors of one queue that request the same resources have the same victims in the same
        # order, until pods are evicted.
        order, found = self._shared.found[self._asking]
        eviction = VictimEviction(
            self._session, self._group, self._missing, order=order, switch=RECLAIMABLE
        )
        # If the rules allow no victim, the victims of other jobs may still free enough for this
        # one.
        if not self._permitted(found):
            return (
                self._others_terminate()
                and any(map(self._shared.of, self._asked))
                and eviction.reserve_terminating()
            )
        return eviction.evict(found, rules=[Minimums(self._session).together, self._permitted])

    @functools.cached_property
    def _asked(self) -> tuple[str, ...]:
        """Names of the queues that the job's queue may reclaim from."""
        rows = self._session.snapshot.queues.values()
        return tuple(row.name for row in rows if self._asks(row))

    @functools.cached_property
    def _asking(self) -> tuple[object, ...]:
        """The cache key of results: jobs with equal keys have the same potential victims."""
        # The names of the needed resources are enough: `permits` does not read their amounts, and
        # what `may_reclaim_from` makes of the amounts is in `_asked`.
        return (self._group.queue, self._asked, tuple(sorted(self._needed)))

    @functools.cached_property
    def _willing(self) -> dict[_Kind, None]:
        """The kinds of pods that the rules allow as victims now.

        Evictions only lower what queues have, so no other kind is allowed later.
        """
        willing: dict[_Kind, None] = {}
        # One check per shape is enough, because the rules see only amounts, not pods.
        for queue in self._asked:
            rows = self._asked_of(queue)
            has = {row.name: self._session.accounts.allocated(row.name) for row in rows}
            for key, shape in self._shared.shapes_in(queue).items():
                if self._rule.permits(rows, has, dict(shape.request)):
                    willing[queue, key] = None
        return willing

    def _asked_of(self, queue: str) -> list[QueueRow]:
        """The queue and its ancestors, without those that are also ancestors of the job's queue."""
        return [
            row for row in self._session.accounts.ancestors(queue) if row.name not in self._names
        ]

    def _others_terminate(self) -> bool:
        """Whether any pods are terminating or were chosen as victims in this session."""
        return bool(self._session.decided.evicted or self._session.snapshot.terminating_pods)

    def _found(self) -> tuple[VictimOrder, list[Bundle]]:
        """The order of victims and, in that order, the bundles with a pod that the rules allow."""
        queues = dict.fromkeys(queue for queue, _ in self._willing)
        bundles_found = [
            bundle
            for queue in queues
            for bundle in self._shared.of(queue)
            # One allowed pod is enough for a whole gang: the rules check the sum of the
            # bundle later.
            if any((queue, pod.shape.key) in self._willing for pod in bundle.pods)
        ]
        ranks = {queue: self._rank(queue) for queue in queues}
        order = self._order.ranked(ranks.__getitem__)
        return order, sorted(bundles_found, key=order.key)

    def _rank(self, queue: str) -> tuple[int, int]:
        """Nearer queues first, then those with the largest part of their deserved share."""
        share = share_of(self._session.accounts.allocated(queue), self._deserved.get(queue, {}))
        return (-self._rule.proximity(self._session.accounts.ancestors(queue)), -share)

    def _asks(self, row: QueueRow) -> bool:
        """Whether the queue is reclaimable and the rules let the job's queue reclaim from it."""
        if not row.reclaimable or row.name in self._names:
            return False
        return self._free or self._rule.may_reclaim_from(self._session.accounts.ancestors(row.name))

    def _permitted(self, found: Sequence[Bundle]) -> list[Bundle]:
        """The bundles that may be evicted together. A rule of the search.

        Each accepted bundle lowers what its queue and the ancestors have, so later bundles are
        checked against the lower amounts.
        """
        has: dict[str, Resources] = {}
        taken: dict[str, None] = {}
        permitted: list[Bundle] = []
        refused: dict[_Kind, None] = {}
        """Kinds of single pods that were refused. With lower amounts they are refused again."""
        for bundle in found:
            kind = (bundle.group.queue, bundle.pods[0].shape.key)
            if kind in refused and len(bundle.pods) == 1:
                continue
            # A whole gang and its single pods overlap. Pods that were accepted before must not
            # count twice.
            pods = [pod for pod in bundle.pods if pod.uid not in taken]
            rows = self._asked_of(bundle.group.queue)
            for row in rows:
                has.setdefault(row.name, Resources(self._session.accounts.allocated(row.name)))
            # Rules are checked on the sum of the bundle: a whole gang may cross the share that its
            # single pods do not.
            freed = Resources.total(pod.shape.request for pod in pods)
            if self._rule.permits(rows, has, freed) and all(
                _keeps_guarantee(row, has[row.name], freed) for row in rows
            ):
                permitted.append(bundle)
                taken.update({pod.uid: None for pod in pods})
                for row in rows:
                    has[row.name].add(freed, times=-1)
            # Only the refusal of one pod says something about its kind. A whole gang is refused for
            # its sum, and a pod that was accepted with its gang frees nothing more.
            elif len(bundle.pods) == len(pods) == 1:
                refused[kind] = None
        return permitted


def _keeps_guarantee(row: QueueRow, has: Resources, freed: Resources) -> bool:
    """Whether the queue still has its guarantee without the freed amounts."""
    return all(has[name] - freed[name] >= least for name, least in row.guarantee)


def _any_pod(group: GroupRow, pod: PodRow) -> bool:
    """Permit every pod: the reclaim rules are checked separately."""
    del group, pod
    return True


def _needed(group: GroupRow, missing: Missing) -> Resources:
    """The requests of the missing pods, added up.

    Pods are counted in the order in which they are placed, best-effort pods last. The number of
    pods is left out, because queues have no share of it.
    """
    needed = Resources()
    for task, count in missing:
        left = count
        for run in sorted(group.runs, key=is_best_effort_run):
            pods = min(left, len(run.pods)) if task in (None, run.task) else 0
            if pods:
                left -= pods
                needed.add(run.shape.request, times=pods)
    return needed.without(NOT_REQUESTED)
