"""Search and evict the cheapest victims for one gang, or none.

Every victim set is simulated first: the victims are removed, and the complete gang is placed in the
same way as it will be placed later. So no pod is evicted for a job that does not fit afterwards.
`eviction/victim_search.py` decides which sets are simulated and which one is the cheapest. This
module has its greedy part:

1. A binary search finds the shortest prefix of the ordered bundles whose removal is sufficient.
2. Victims that are not needed are exempted. First, all victims on nodes that the gang does not use
   are exempted together. Then the others are tried one by one, whole gangs first.
3. If there are too many victims for that, those that fit beside the placed gang are exempted
   together. Then halves of the rest are tried, and halves of these.
"""

from collections.abc import Callable, Sequence
from typing import Final

from vc.scheduling.eviction.capacity_bound import CapacityBound
from vc.scheduling.eviction.victim_order import VictimOrder
from vc.scheduling.eviction.victim_search import Rule, VictimSearch
from vc.scheduling.eviction.victims import Bundle, DisruptionLimits, Minimums, pods_of
from vc.scheduling.model.node_table import Ints
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.placement.gang import Missing, try_minimum
from vc.scheduling.placement.simulated_removal import (
    SimulatedRemoval,
    remove_victims,
    terminating_pods,
)
from vc.scheduling.reservations.future_idle import reserve_part, wait_for_terminating
from vc.scheduling.session.session import Session
from vc.scheduling.session.statement import Statement

REPRIEVES_TRIED_MAX: Final = 64
"""Simulations to exempt victims. If there are more victims, they are exempted in parts."""

ROWS_TRIED_MAX: Final = 16
"""Prefixes of the bundles that are tried one by one when pod affinity applies."""


class VictimEviction:
    """Searches the victims of one gang, evicts them and reserves their resources for the gang."""

    def __init__(
        self,
        session: Session,
        group: GroupRow,
        missing: Missing,
        *,
        order: VictimOrder,
        switch: str,
    ) -> None:
        """`order` is the victim order of the session. `switch` is PREEMPTABLE or RECLAIMABLE."""
        self._session = session
        self._group = group
        self._missing = missing
        self._order = order
        self._limits = DisruptionLimits(session, switch=switch)
        # With pod affinity the removal of a pod can also make a placement impossible, so every step
        # that assumes "more victims, more capacity" needs this flag.
        self._delicate = any(session.pod_affinity.delicate(run) for run in group.runs)

    def evict(self, bundles: Sequence[Bundle], *, rules: Sequence[Rule] | None = None) -> bool:
        """Evict the cheapest sufficient victim set, and reserve the resources for the gang.

        Returns False, with the session unchanged, if no permitted set is sufficient. `rules` decide
        which bundles may be evicted together, in addition to the disruption limits. By default, the
        rule is that gangs keep their minimums.
        """
        return self._without_partial(lambda: self._evict(bundles, rules))

    def reserve_terminating(self) -> bool:
        """Reserve resources that terminating pods and earlier victims free.

        Returns False, with the session unchanged, if they are not sufficient for the gang.
        """
        return self._without_partial(self._reserve_terminating)

    def _reserve_terminating(self) -> bool:
        """Reserve without victims if the gang fits."""
        if self._simulate([]) is None:
            return False
        self._commit([])
        return True

    def _without_partial(self, attempt: Callable[[], bool]) -> bool:
        """Run an attempt for the complete gang, without the gang's own partial reservation.

        If the attempt fails, the partial reservation is made again.
        """
        # The partial reservation uses nodes and waiting pods of the gang. With it in place, the
        # complete gang could not be simulated.
        partial = self._session.reservations.cancel_partial(self._group)
        made = attempt()
        if partial and not made:
            # The partial reservation is for the missing minimum. `_missing` may be a single
            # surplus pod.
            missing = self._session.framework.jobs.missing(self._group)
            reserve_part(self._session, self._group, missing)
        return made

    def _evict(self, bundles: Sequence[Bundle], rules: Sequence[Rule] | None) -> bool:
        """Run the victim search and commit its result."""
        search = VictimSearch(
            self._order,
            rules=[*(rules or [Minimums(self._session).together]), self._limits.together],
            simulate=self._simulate,
            needed=self._needed,
            bound=CapacityBound(self._session, self._group, self._missing),
            monotone=not self._delicate,
            labels_matter=self._delicate or self._limits.any,
        )
        chosen = search.best(bundles)
        if chosen is None:
            return False
        self._commit(chosen)
        return True

    def _commit(self, chosen: list[Bundle]) -> None:
        """Evict the victims, and reserve the nodes of the simulation for the gang."""
        victims = pods_of(chosen)
        # The simulation is repeated and its placement kept. The victims return on top of it, so
        # that no other gang is placed on these nodes in this session.
        terminating, removed = self._remove(victims)
        statement = Statement(self._session, self._group)
        # The simulation is deterministic and the session is unchanged since, so the gang
        # fits again.
        try_minimum(self._session, self._group, self._missing, statement)
        self._session.evict(self._group, victims)
        self._session.reservations.reserve(self._group, statement.reserve())
        removed.restore(kept=True)
        terminating.restore(kept=True)
        wait_for_terminating(self._session, self._group, evicted=len(victims))

    def _needed(self, bundles: Sequence[Bundle]) -> list[Bundle] | None:
        """The shortest sufficient prefix of the bundles, without those that are not needed."""
        shortest = self._shortest(bundles)
        return None if shortest is None else self._without_unneeded(shortest)

    def _shortest(self, bundles: Sequence[Bundle]) -> list[Bundle] | None:
        """The shortest prefix of the bundles whose removal is sufficient; None if there is none.

        In general, more victims free more resources, so binary search is correct. With pod affinity
        it is not: a pod that the gang must be near may be among the victims. Short prefixes are
        then tried one by one first.
        """
        if self._delicate:
            for count in range(1, min(len(bundles), ROWS_TRIED_MAX) + 1):
                if self._simulate(bundles[:count]) is not None:
                    return list(bundles[:count])
        # The largest set first: if it is not sufficient, no prefix is, and the search ends here.
        if not bundles or self._simulate(bundles) is None:
            return None
        # Invariant: the prefix of length `high` is sufficient, and none shorter than `low` is.
        low, high = 1, len(bundles)
        while low < high:
            middle = (low + high) // 2
            if self._simulate(bundles[:middle]) is not None:
                high = middle
            else:
                low = middle + 1
        return list(bundles[:high])

    def _without_unneeded(self, chosen: list[Bundle]) -> list[Bundle]:
        """The bundles without those that are not needed."""
        # Simulated again, because the binary search keeps only whether a prefix is
        # sufficient, not its nodes.
        used = self._simulate(chosen) or []
        names = self._session.snapshot.nodes.static.names
        # Victims on nodes that the gang does not use are rarely needed. One simulation checks that.
        there = {names[row]: None for row in used}
        near = [bundle for bundle in chosen if any(pod.node in there for pod in bundle.pods)]
        if len(near) < len(chosen) and self._simulate(near) is not None:
            chosen = near
        # One simulation per victim would make the cost quadratic in the number of victims, as each
        # simulation removes all of them.
        if len(chosen) > REPRIEVES_TRIED_MAX:
            return self._without_unneeded_parts(self._without_fitting(chosen))
        # Expensive bundles are tried first: each exempted bundle makes it less likely that another
        # one can be exempted too.
        for bundle in sorted(chosen, key=self._expense, reverse=True):
            without = [other for other in chosen if other is not bundle]
            if self._simulate(without) is not None:
                chosen = without
        return chosen

    def _expense(self, bundle: Bundle) -> tuple[object, ...]:
        """Sort key: the number of pods, then the position in the order of victims."""
        return (len(bundle.pods), self._order.key(bundle))

    def _without_fitting(self, chosen: list[Bundle]) -> list[Bundle]:
        """The bundles without those that fit on their nodes beside the gang.

        The gang is placed once with all victims removed. Then bundles are put back as far as free
        resources allow. This needs no simulation per bundle, so it works for any number of them. A
        last simulation checks that the gang fits beside all that were put back.
        """
        session = self._session
        terminating, removed = self._remove(pods_of(chosen))
        statement = Statement(session, self._group)
        try_minimum(session, self._group, self._missing, statement)
        # A new array: it must survive the discard below, and `_put_back` changes it.
        idle = session.node_capacity.nodes.allocatable - session.node_capacity.used
        statement.discard()
        removed.restore(kept=False)
        terminating.restore(kept=False)
        # Bundles are put back from the last on, because the last ones are the most expensive
        # victims.
        needed = [bundle for bundle in chosen[::-1] if not self._put_back(bundle, idle)][::-1]
        return needed if self._simulate(needed) is not None else chosen

    def _put_back(self, bundle: Bundle, idle: Ints) -> bool:
        """Subtract the pods of a bundle from `idle` if all of them fit; return whether they do."""
        session = self._session
        rows = [session.snapshot.nodes.static.row(pod.node) for pod in bundle.pods]
        placed = [
            (row, session.node_capacity.request(pod.shape))
            for pod, row in zip(bundle.pods, rows, strict=True)
            if row is not None
        ]
        # All pods are subtracted before the check, because several of them may be on one node and
        # fit there only one by one.
        for row, request in placed:
            idle[row] -= request
        # A bundle goes back as a whole or not at all: a part of a gang below its minimum
        # does no work.
        if all((idle[row] >= 0).all() for row, _ in placed):
            return True
        for row, request in placed:
            idle[row] += request
        return False

    def _without_unneeded_parts(self, chosen: list[Bundle]) -> list[Bundle]:
        """The bundles without parts that are not needed: halves, then halves of these.

        The number of simulations is bounded, so unneeded victims may remain.
        """
        parts = [chosen[len(chosen) // 2 :], chosen[: len(chosen) // 2]]  # expensive half first
        # The parts are tried in breadth-first order, so that the budget is spent on large
        # parts first.
        for _ in range(REPRIEVES_TRIED_MAX):
            if not parts:
                break
            part = parts.pop(0)
            # Bundles are compared by identity: equal pods are still different victims.
            off = {id(bundle): None for bundle in part}
            without = [bundle for bundle in chosen if id(bundle) not in off]
            if self._simulate(without) is not None:
                chosen = without
            elif len(part) > 1:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return chosen

    def _simulate(self, bundles: Sequence[Bundle]) -> list[int] | None:
        """The rows of the nodes that the gang uses without these victims; None if it does not fit.

        The session is unchanged afterwards.
        """
        terminating, removed = self._remove(pods_of(bundles))
        statement = Statement(self._session, self._group)
        reason = try_minimum(self._session, self._group, self._missing, statement)
        rows = statement.rows if reason is None else None
        # Undone in reverse order of the changes. Otherwise the capacity states would not match
        # those before, and results cached for them would be lost.
        statement.discard()
        removed.restore(kept=False)
        terminating.restore(kept=False)
        return rows

    def _remove(self, victims: list[PodRow]) -> tuple[SimulatedRemoval, SimulatedRemoval]:
        """Simulate the removal of terminating pods and earlier victims, then of these victims.

        The caller puts both back, in reverse order.
        """
        # Terminating pods go first, so that `restore` in reverse order returns to the same states.
        terminating = terminating_pods(self._session, victims=True)
        terminating.remove()
        return terminating, remove_victims(self._session, victims)
