"""Making room for one gang: the cheapest victims, or none.

Everything is a trial first: with a set of victims away, the complete gang is placed as it will be
placed later. Which sets are tried, and which of them is the cheapest, `eviction/victim_search.py` says. Here
is its greedy part: the shortest row of bundles that makes room is found by halving, then every victim that
was not needed after all is let off: those on nodes the gang does not use at once, the others one by one,
whole gangs first. Where they are too many for that, those go first that have room beside the
gang as it lies, then halves and halves of halves are tried. Nobody is evicted for a job that then does not run.
"""

from collections.abc import Callable, Sequence
from typing import Final

from vc_scheduler.logic.eviction.capacity_bound import CapacityBound
from vc_scheduler.logic.eviction.minimums import Minimums
from vc_scheduler.logic.eviction.victim_order import VictimOrder
from vc_scheduler.logic.eviction.victim_search import Rule, VictimSearch
from vc_scheduler.logic.future import give_up_part, hold_part, promise
from vc_scheduler.logic.leaving import Leaving, those_leaving
from vc_scheduler.logic.limiting import Limiting
from vc_scheduler.logic.placing import Missing, try_minimum
from vc_scheduler.logic.rows import GroupRow, PodRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement
from vc_scheduler.logic.table import Ints
from vc_scheduler.logic.victims import Bundle, pods_of

REPRIEVES_TRIED_MAX: Final = 64
"""Trials to let victims off; with more victims than that they are let off in parts."""

ROWS_TRIED_MAX: Final = 16
"""Rows of victims that are tried one by one where pods are to lie near others."""


class Room:
    """Looks for the victims of one gang."""

    def __init__(
        self,
        session: Session,
        group: GroupRow,
        missing: Missing,
        *,
        order: VictimOrder,
        switch: str,
    ) -> None:
        """`order` is that of the session, `switch` says for which action."""
        self._session = session
        self._group = group
        self._missing = missing
        self._order = order
        self._limiting = Limiting(session, switch=switch)
        self._delicate = any(session.peers.delicate(run) for run in group.runs)

    def make(self, bundles: Sequence[Bundle], *, rules: Sequence[Rule] | None = None) -> bool:
        """Evict the cheapest set and hold the room; False, and nothing changed, when none will do.

        `rules` say which of the bundles may go together besides what limits say; without them, what leaves
        their gangs their minimums.
        """
        return self._about_all(lambda: self._make(bundles, rules))

    def wait(self) -> bool:
        """Hold the room that pods make which leave anyway; False when that is not enough."""
        return self._about_all(self._wait)

    def _wait(self) -> bool:
        if self._trial([]) is None:
            return False
        self._commit([])
        return True

    def _about_all(self, attempt: Callable[[], bool]) -> bool:
        """Trials are about all of the gang: what it holds for a part of it is given up meanwhile."""
        part = give_up_part(self._session, self._group)
        made = attempt()
        if part and not made:
            missing = self._session.framework.missing(self._group)
            hold_part(self._session, self._group, missing)
        return made

    def _make(self, bundles: Sequence[Bundle], rules: Sequence[Rule] | None) -> bool:
        search = VictimSearch(
            self._order,
            rules=[*(rules or [Minimums(self._session).together]), self._limiting.together],
            simulate=self._trial,
            needed=self._needed,
            bound=CapacityBound(self._session, self._group, self._missing),
            monotone=not self._delicate,
            labels_matter=self._delicate or self._limiting.any,
        )
        chosen = search.best(bundles)
        if chosen is None:
            return False
        self._commit(chosen)
        return True

    def _commit(self, chosen: list[Bundle]) -> None:
        """The victims go, and the gang holds the rows of the trial."""
        victims = pods_of(chosen)
        gone, leaving = self._away(victims)
        statement = Statement(self._session, self._group)
        try_minimum(self._session, self._group, self._missing, statement)
        self._session.evict(self._group, victims, statement.reserve())
        leaving.back(kept=True)
        gone.back(kept=True)
        promise(self._session, self._group, evicted=len(victims))

    def _needed(self, bundles: Sequence[Bundle]) -> list[Bundle] | None:
        """The shortest row that makes room, without those that are not needed after all."""
        shortest = self._shortest(bundles)
        return None if shortest is None else self._let_off(shortest)

    def _shortest(self, bundles: Sequence[Bundle]) -> list[Bundle] | None:
        """The shortest row from the cheapest on that makes room.

        With more victims away there is more room, except for pods that are to lie near others: somebody
        they need may be among the victims, so short rows are tried one by one.
        """
        if self._delicate:
            for count in range(1, min(len(bundles), ROWS_TRIED_MAX) + 1):
                if self._trial(bundles[:count]) is not None:
                    return list(bundles[:count])
        if not bundles or self._trial(bundles) is None:
            return None
        low, high = 1, len(bundles)
        while low < high:
            middle = (low + high) // 2
            if self._trial(bundles[:middle]) is not None:
                high = middle
            else:
                low = middle + 1
        return list(bundles[:high])

    def _let_off(self, chosen: list[Bundle]) -> list[Bundle]:
        """Without those that are not needed."""
        used = self._trial(chosen) or []
        names = self._session.snapshot.nodes.static.names
        there = {names[row]: None for row in used}
        near = [bundle for bundle in chosen if any(pod.node in there for pod in bundle.pods)]
        if len(near) < len(chosen) and self._trial(near) is not None:
            chosen = near
        if len(chosen) > REPRIEVES_TRIED_MAX:
            return self._let_parts_off(self._let_stay(chosen))
        for bundle in sorted(chosen, key=self._dear, reverse=True):
            without = [other for other in chosen if other is not bundle]
            if self._trial(without) is not None:
                chosen = without
        return chosen

    def _dear(self, bundle: Bundle) -> tuple[object, ...]:
        """Most pods first, then the last of those that would be taken."""
        return (len(bundle.pods), self._order.key(bundle))

    def _let_stay(self, chosen: list[Bundle]) -> list[Bundle]:
        """Without those that have room beside the gang, where it lies when all are gone.

        Found without a trial for each: it does not matter how many they are. One trial says whether
        the gang fits beside them all.
        """
        session = self._session
        gone, leaving = self._away(pods_of(chosen))
        statement = Statement(session, self._group)
        try_minimum(session, self._group, self._missing, statement)
        idle = session.rooms.nodes.allocatable - session.rooms.used
        statement.discard()
        leaving.back(kept=False)
        gone.back(kept=False)
        needed = [bundle for bundle in chosen[::-1] if not self._put_back(bundle, idle)][::-1]
        return needed if self._trial(needed) is not None else chosen

    def _put_back(self, bundle: Bundle, idle: Ints) -> bool:
        """Take the room of a bundle's pods, if all of them have it."""
        session = self._session
        rows = [session.snapshot.nodes.static.row(pod.node) for pod in bundle.pods]
        placed = [
            (row, session.rooms.request(pod.shape))
            for pod, row in zip(bundle.pods, rows, strict=True)
            if row is not None
        ]
        for row, request in placed:
            idle[row] -= request
        if all((idle[row] >= 0).all() for row, _ in placed):
            return True
        for row, request in placed:
            idle[row] += request
        return False

    def _let_parts_off(self, chosen: list[Bundle]) -> list[Bundle]:
        """Without parts that are not needed: halves, then halves of those, as far as trials go."""
        parts = [chosen[len(chosen) // 2 :], chosen[: len(chosen) // 2]]  # the dearest first
        for _ in range(REPRIEVES_TRIED_MAX):
            if not parts:
                break
            part = parts.pop(0)
            off = {id(bundle): None for bundle in part}
            without = [bundle for bundle in chosen if id(bundle) not in off]
            if self._trial(without) is not None:
                chosen = without
            elif len(part) > 1:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return chosen

    def _trial(self, bundles: Sequence[Bundle]) -> list[int] | None:
        """The nodes the gang would use with these victims gone; None when it does not fit."""
        gone, leaving = self._away(pods_of(bundles))
        statement = Statement(self._session, self._group)
        reason = try_minimum(self._session, self._group, self._missing, statement)
        rows = statement.rows if reason is None else None
        statement.discard()
        leaving.back(kept=False)
        gone.back(kept=False)
        return rows

    def _away(self, victims: list[PodRow]) -> tuple[Leaving, Leaving]:
        """Pods that leave anyway, then the victims: all away until they are put back."""
        session = self._session
        gone = those_leaving(session, victims=True)
        leaving = Leaving(session, victims, counted=True)
        session.moves += len(victims)
        gone.go()
        leaving.go()
        return gone, leaving
