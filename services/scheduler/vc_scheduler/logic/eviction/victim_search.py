"""The search for the cheapest set of victims for one gang.

1. Levels. The first two terms of the order (`victim_order.Level`) are tried from the best on: first
   without broken gangs, from the lowest priority up; then with broken gangs, likewise. A level at which
   the gang does not fit even without everything that the level allows is passed over.
2. Greedy. At a level bundles are taken in the order of `VictimOrder.key`, as many as are needed, and those
   that turn out not to be needed are spared (`reprieve`). The result is minimal: none of its victims can
   stay.
3. Exact. Where the sets of the level that have no more pods than the greedy one are few (`SETS_MAX`), all
   of them are compared: the cheapest that makes room is the result, and the order is exact. Pods of one job,
   task, node and shape are interchangeable, so that of those only the cheapest few count.
4. Exchange. Where the sets are too many, single victims are exchanged for cheaper ones, fewer pods or
   less work, as far as `EXCHANGES_MAX` goes.

So in every case no gang is broken and no priority touched that the greedy search could avoid; up to
`SETS_MAX` the result is the minimum of the order; beyond that it is minimal, and no single exchange among
those that were tried is better. Whether a set makes room is always simulated with the complete gang.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from vc_scheduler.logic.eviction.capacity_bound import CapacityBound
from vc_scheduler.logic.eviction.victim_order import Level, VictimOrder
from vc_scheduler.logic.victims import Bundle, pods_of

SETS_MAX: Final = 512
"""Sets of victims that are compared one by one."""

UNITS_MAX: Final = 2048
"""Bundles among which sets are counted at all."""

LEVELS_MAX: Final = 8
"""Levels that are searched when no permitted set is found at those before; then only the last one."""

EXCHANGES_MAX: Final = 64
EXCHANGED_PODS_MAX: Final = 4096
"""Exchanges that are tried, and pods of the sets that are tried with them, all together."""

Rule = Callable[[Sequence[Bundle]], list[Bundle]]
"""Of bundles in the order in which they are considered, those that may go together. A subset of what
may go together may go together."""

Simulate = Callable[[Sequence[Bundle]], list[int] | None]
"""The nodes that the gang uses without these pods; None when it does not fit."""


class VictimSearch:
    """Over the bundles that may go for one gang."""

    def __init__(
        self,
        order: VictimOrder,
        *,
        rules: Sequence[Rule],
        simulate: Simulate,
        needed: Callable[[Sequence[Bundle]], list[Bundle] | None],
        bound: CapacityBound,
        monotone: bool,
        labels_matter: bool,
    ) -> None:
        """`needed` is the greedy search. `monotone`: with more victims gone there is more room.
        `labels_matter`: pods that differ in labels alone are not interchangeable."""
        self._order = order
        self._rules = rules
        self._simulate = simulate
        self._needed = needed
        self._bound = bound
        self._monotone = monotone
        self._labels_matter = labels_matter

    def best(self, bundles: Sequence[Bundle]) -> list[Bundle] | None:
        """The cheapest set that was found; None when none makes room."""
        if not bundles or (self._monotone and not self._makes_room(bundles)):
            return None
        units = sorted(bundles, key=self._order.key)
        for breaking in (False, True):
            found = self._best_of(self._levels(units, breaking=breaking), units)
            if found is not None:
                return found
        return None

    def _levels(self, units: Sequence[Bundle], *, breaking: bool) -> list[Level]:
        """In ascending order; with `breaking`, those that allow to break a gang."""
        found = [self._order.level(unit) for unit in units]
        wholes = [level.priority for level in found if level.breaks_gang]
        if breaking and not wholes:
            return []
        priorities = {
            level.priority: None
            for level in found
            if (level.priority >= min(wholes) if breaking else not level.breaks_gang)
        }
        return [Level(breaking, priority) for priority in sorted(priorities)]

    def _best_of(self, levels: list[Level], units: Sequence[Bundle]) -> list[Bundle] | None:
        at = {level: self._within(level, units) for level in levels}
        if self._monotone and levels:
            if not self._makes_room(at[levels[-1]]):
                return None
            low, high = 0, len(levels) - 1
            while low < high:
                middle = (low + high) // 2
                if self._makes_room(at[levels[middle]]):
                    high = middle
                else:
                    low = middle + 1
            levels = levels[low:]
        for level in [*levels[:LEVELS_MAX], *levels[LEVELS_MAX:][-1:]]:
            found = self._at_level(at[level])
            if found is not None:
                return found
        return None

    def _within(self, level: Level, units: Sequence[Bundle]) -> list[Bundle]:
        return [
            unit
            for unit in units
            if (level.breaks_gang or not unit.whole)
            and self._order.level(unit).priority <= level.priority
        ]

    def _at_level(self, units: list[Bundle]) -> list[Bundle] | None:
        found = self._greedy(units)
        if found == []:  # pods that leave for others make enough room
            return found
        pods_max = len(pods_of(units if found is None else found))
        if len(units) <= UNITS_MAX:
            sets = _Sets(units, self._order, labels=self._labels_matter)
            if sets.count(pods_max) <= SETS_MAX:
                return self._exact(sets.up_to(pods_max), found)
        return None if found is None else self._exchanged(units, found)

    def _greedy(self, units: list[Bundle]) -> list[Bundle] | None:
        """With those that may go together; where these are of no use, with all, if what is needed of
        them may go together."""
        together = self._together(units)
        found = self._needed(together)
        if found is not None or len(together) == len(units):
            return found
        found = self._needed(units)
        return found if found is not None and self._permitted(found) else None

    def _exact(
        self, sets: Iterator[list[Bundle]], found: list[Bundle] | None
    ) -> list[Bundle] | None:
        """The cheapest of all these sets and of the one that was found."""
        most = None if found is None else self._order.cost(found)
        priced = [(self._order.cost(chosen), chosen) for chosen in sets]
        cheaper = [entry for entry in priced if most is None or entry[0] < most]
        for _, chosen in sorted(cheaper, key=lambda entry: entry[0]):
            if self._permitted(chosen) and self._makes_room(chosen):
                return chosen
        return found

    def _exchanged(self, units: list[Bundle], found: list[Bundle]) -> list[Bundle]:
        """With single victims exchanged for cheaper ones, the dearest first."""
        tries = min(EXCHANGES_MAX, max(1, EXCHANGED_PODS_MAX // len(pods_of(found))))
        others = sorted(units, key=self._order.tie)
        for victim in sorted(found, key=self._order.tie, reverse=True):
            for other in others:
                if self._order.added(other) >= self._order.added(victim):
                    break
                if other in found:
                    continue
                if tries == 0:
                    return found
                tries -= 1
                changed = [other, *(bundle for bundle in found if bundle is not victim)]
                changed.sort(key=self._order.key)
                if self._permitted(changed) and self._makes_room(changed):
                    found = changed
                    break
        return found

    def _makes_room(self, chosen: Sequence[Bundle]) -> bool:
        return self._bound.covers(chosen) and self._simulate(chosen) is not None

    def _together(self, units: list[Bundle]) -> list[Bundle]:
        for rule in self._rules:
            units = rule(units)
        return units

    def _permitted(self, chosen: Sequence[Bundle]) -> bool:
        ordered = sorted(chosen, key=self._order.key)
        return all(len(rule(ordered)) == len(ordered) for rule in self._rules)


class _Sets:
    """The sets of victims that some bundles make up: of each gang the whole, or single pods."""

    def __init__(self, units: Sequence[Bundle], order: VictimOrder, *, labels: bool) -> None:
        self._classes: dict[str, dict[tuple[object, ...], list[Bundle]]] = {}
        self._wholes: dict[str, Bundle] = {}
        for unit in units:
            alike = self._classes.setdefault(unit.group.key, {})
            if unit.whole:
                self._wholes[unit.group.key] = unit
            else:
                alike.setdefault(_class(unit, labels=labels), []).append(unit)
        for classes in self._classes.values():
            for members in classes.values():
                members.sort(key=order.tie)  # of those that are alike the cheapest go first

    def count(self, pods_max: int) -> int:
        """How many sets have at most so many pods; counted as far as `SETS_MAX`."""
        by_pods = {0: 1}
        for key, classes in self._classes.items():
            mine = {0: 1}
            for members in classes.values():
                mine = _times(mine, dict.fromkeys(range(len(members) + 1), 1), pods_max)
            if key in self._wholes:
                size = len(self._wholes[key].pods)
                mine[size] = mine.get(size, 0) + 1
            by_pods = _times(by_pods, mine, pods_max)
            if sum(by_pods.values()) > SETS_MAX + 1:
                return SETS_MAX + 1
        return sum(by_pods.values()) - 1  # one of them is empty

    def up_to(self, pods_max: int) -> Iterator[list[Bundle]]:
        """All of them, except the empty one."""
        sets: list[list[Bundle]] = [[]]
        for key, classes in self._classes.items():
            mine: list[list[Bundle]] = [[]]
            for members in classes.values():
                mine = [
                    [*some, *members[:taken]]
                    for some in mine
                    for taken in range(min(len(members), pods_max - len(some)) + 1)
                ]
            if key in self._wholes:
                mine.append([self._wholes[key]])
            sets = [
                [*before, *some]
                for before in sets
                for some in mine
                if _pods(before) + _pods(some) <= pods_max
            ]
        return (chosen for chosen in sets if chosen)


def _class(unit: Bundle, *, labels: bool) -> tuple[object, ...]:
    """What makes single pods of a gang interchangeable."""
    pod = unit.pods[0]
    told = tuple(sorted(pod.labels.items())) if labels else ()
    return (pod.role, pod.node, pod.shape.key, pod.priority, told)


def _pods(chosen: Sequence[Bundle]) -> int:
    return sum(len(bundle.pods) for bundle in chosen)


def _times(left: dict[int, int], right: dict[int, int], most: int) -> dict[int, int]:
    """How many pairs there are by their sum, up to `most`."""
    found: dict[int, int] = {}
    for a, times in left.items():
        for b, more in right.items():
            if a + b <= most:
                found[a + b] = found.get(a + b, 0) + times * more
    return found
