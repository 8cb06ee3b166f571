"""Making room for one gang: the fewest and cheapest victims, or none.

Everything is a trial first: with a set of victims away, the complete gang is placed as it will be
placed later. The shortest row of the cheapest bundles that makes room is found by halving, then every
victim that was not needed after all is let off: those on nodes the gang does not use at once, the
others one by one, dearest first. Nobody is evicted for a job that then does not run.
"""

from collections.abc import Callable, Sequence
from typing import Final

from vc_scheduler.logic.future import promise
from vc_scheduler.logic.leaving import Leaving
from vc_scheduler.logic.placing import Missing, try_minimum
from vc_scheduler.logic.rows import GroupRow, PodRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.statement import Statement
from vc_scheduler.logic.victims import Bundle, cost_key

Accepts = Callable[[Sequence[Bundle]], bool]

REPRIEVES_TRIED_MAX: Final = 64
"""Trials to let single victims off; beyond that some may go that could have stayed."""


class Room:
    """Looks for the victims of one gang."""

    def __init__(self, session: Session, group: GroupRow, missing: Missing) -> None:
        self._session = session
        self._group = group
        self._missing = missing

    def make(self, bundles: Sequence[Bundle], *, accepts: Accepts | None = None) -> bool:
        """Evict as few as needed and hold the room; False, and nothing changed, when none will do.

        `accepts` is asked about the final set, where what one may give depends on what others give.
        """
        chosen = self._needed(bundles)
        if chosen is None:
            return False
        if any(bundle.whole for bundle in chosen):
            # A gang breaks anyway: perhaps one that is large enough alone is cheaper than pieces.
            other = self._needed(sorted(bundles, key=self._large_first))
            chosen = min(chosen, other or chosen, key=self._cost)
        if accepts is not None and not accepts(chosen):
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

    def _large_first(self, bundle: Bundle) -> tuple[object, ...]:
        return cost_key(self._session, bundle, spare_first=False)

    def _cost(self, chosen: list[Bundle]) -> tuple[int, int, int]:
        """Gangs broken, the highest priority that goes, victims: less is better, in this order."""
        return (
            sum(bundle.whole for bundle in chosen),
            max(self._session.priority(bundle.group) for bundle in chosen),
            len(pods_of(chosen)),
        )

    def _needed(self, bundles: Sequence[Bundle]) -> list[Bundle] | None:
        """The shortest row that makes room, without those that are not needed after all."""
        shortest = self._shortest(bundles)
        return None if shortest is None else self._let_off(shortest)

    def _shortest(self, bundles: Sequence[Bundle]) -> list[Bundle] | None:
        """The shortest row from the cheapest on that makes room."""
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
        for bundle in chosen[::-1][:REPRIEVES_TRIED_MAX]:
            without = [other for other in chosen if other is not bundle]
            if self._trial(without) is not None:
                chosen = without
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
        """Pods that leave anyway, victims for others among them, then the victims: all away until they
        are put back."""
        session = self._session
        earlier = [pod for evicted in session.evicted.values() for pod in evicted]
        gone = Leaving(session, [*session.snapshot.leaving, *earlier], counted=False)
        leaving = Leaving(session, victims, counted=True)
        gone.go()
        leaving.go()
        return gone, leaving


def pods_of(bundles: Sequence[Bundle]) -> list[PodRow]:
    """Each pod once, in the order of bundles."""
    return list({pod.uid: pod for bundle in bundles for pod in bundle.pods}.values())
