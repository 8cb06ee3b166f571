"""The search for the cheapest set of victims for one gang.

1. Levels. The first two terms of the order (`victim_order.Level`) are tried from the best on: first
   without broken gangs, from the lowest priority up, then with broken gangs in the same way. A
   level is skipped if the gang does not fit even with all pods removed that the level allows.
2. Greedy. At a level, bundles are chosen in the order of `VictimOrder.key`, as many as needed.
   Victims that turn out not to be needed are exempted (`eviction/search.py`). Unless there are too
   many to try each, the result is minimal: no single victim can be left out.
3. Exact. If the level has few victim sets with no more pods than the greedy one (`SETS_MAX`), all
   of them are compared. The cheapest sufficient set is the result, so it is optimal. Pods of one
   job, task, node and shape are interchangeable, so only the cheapest of them are considered.
4. Exchange. If there are too many sets, single victims are exchanged for cheaper ones, with fewer
   pods or less work, up to `EXCHANGES_MAX` times.

So in every case, no gang is broken and no pod of higher priority evicted if the greedy search could
avoid it. Up to `SETS_MAX`, the result is the minimum of the order. Beyond that it is the greedy
result, and no single exchange that was tried is better. A set is accepted only after a simulation
with the complete gang.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from vc.scheduling.eviction.capacity_bound import CapacityBound
from vc.scheduling.eviction.victim_order import Level, VictimOrder
from vc.scheduling.eviction.victims import Bundle, pods_of

SETS_MAX: Final = 512
"""Limit of victim sets that are compared one by one."""

UNITS_MAX: Final = 2048
"""Limit of bundles for which the number of sets is counted, because counting also costs time."""

LEVELS_MAX: Final = 8
"""Limit of levels that are searched in order.

If they have no permitted set, the last level is searched too.
"""

EXCHANGES_MAX: Final = 64
EXCHANGED_PODS_MAX: Final = 4096
"""Limits of the exchanges that are tried, and of the pods in the sets that they simulate."""

Rule = Callable[[Sequence[Bundle]], list[Bundle]]
"""Selects from ordered bundles those that may be evicted together.

Every subset of a permitted set must be permitted too."""

Simulate = Callable[[Sequence[Bundle]], list[int] | None]
"""Returns the nodes that the gang uses without these pods; None if it does not fit."""


class VictimSearch:
    """The search over the potential victims of one gang."""

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
        """Create the search for one gang.

        `needed` is the greedy search. `monotone` means that a superset of a sufficient victim set
        is sufficient too. `labels_matter` means that pods which differ only in labels are not
        interchangeable.
        """
        self._order = order
        self._rules = rules
        self._simulate = simulate
        self._needed = needed
        self._bound = bound
        self._monotone = monotone
        self._labels_matter = labels_matter

    def best(self, bundles: Sequence[Bundle]) -> list[Bundle] | None:
        """The cheapest set that was found; None if no permitted set is sufficient."""
        # One check of the largest set saves the whole search for a gang that eviction cannot help.
        # Without monotony the largest set proves nothing.
        if not bundles or (self._monotone and not self._sufficient(bundles)):
            return None
        # A broken gang is the first term of the order, so sets without broken gangs come first.
        # They are searched completely before any set that breaks one, whatever that would save.
        units = sorted(bundles, key=self._order.key)
        for breaking in (False, True):
            found = self._best_of(self._levels(units, breaking=breaking), units)
            if found is not None:
                return found
        return None

    def _levels(self, units: Sequence[Bundle], *, breaking: bool) -> list[Level]:
        """The levels of the bundles, ascending; with `breaking`, those that allow broken gangs."""
        found = [self._order.level(unit) for unit in units]
        # Below the lowest whole bundle, a level that allows broken gangs has the same sets as the
        # level without them, which was searched before.
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
        """The best set at the lowest level that has one."""
        # What a lower level may evict, a higher one may too, so the sets grow with the level.
        at = {level: self._within(level, units) for level in levels}
        if self._monotone and levels:
            # The last level contains all sets of the lower ones, so the others need no check.
            if not self._sufficient(at[levels[-1]]):
                return None
            # A higher level allows more victims, so binary search finds the first that can suffice.
            low, high = 0, len(levels) - 1
            while low < high:
                middle = (low + high) // 2
                if self._sufficient(at[levels[middle]]):
                    high = middle
                else:
                    low = middle + 1
            levels = levels[low:]
        # A level that suffices without the rules may still have no permitted set, so the next
        # levels are tried. The last one is always tried, because its sets include those of the
        # levels that are left out.
        for level in [*levels[:LEVELS_MAX], *levels[LEVELS_MAX:][-1:]]:
            found = self._at_level(at[level])
            if found is not None:
                return found
        return None

    def _within(self, level: Level, units: Sequence[Bundle]) -> list[Bundle]:
        """The bundles that a set of this level may contain."""
        return [
            unit
            for unit in units
            if (level.breaks_gang or not unit.whole)
            and self._order.level(unit).priority <= level.priority
        ]

    def _at_level(self, units: list[Bundle]) -> list[Bundle] | None:
        """The best set of these bundles: exact if there are few sets, else greedy and exchange."""
        # The greedy set is cheap to find and bounds the number of pods for the exact comparison.
        found = self._greedy(units)
        if found == []:  # terminating pods and earlier victims free enough
            return found
        pods_max = len(pods_of(units if found is None else found))
        # At one level, a set with more pods than the greedy one is more expensive, so it need not
        # be compared.
        if len(units) <= UNITS_MAX:
            sets = _Sets(units, self._order, labels=self._labels_matter)
            if sets.count(pods_max) <= SETS_MAX:
                return self._exact(sets.up_to(pods_max), found)
        return None if found is None else self._exchanged(units, found)

    def _greedy(self, units: list[Bundle]) -> list[Bundle] | None:
        """The greedy result over the bundles that may be evicted together.

        If these are not sufficient, all bundles are tried. The result is used only if the rules
        permit it.
        """
        # A set of bundles that are permitted together needs no further check: every subset is
        # permitted too.
        together = self._together(units)
        found = self._needed(together)
        # The rules drop bundles in order. Another choice from all bundles may be permitted although
        # this one was not sufficient.
        if found is not None or len(together) == len(units):
            return found
        found = self._needed(units)
        return found if found is not None and self._permitted(found) else None

    def _exact(
        self, sets: Iterator[list[Bundle]], found: list[Bundle] | None
    ) -> list[Bundle] | None:
        """The cheapest sufficient set of `sets` and `found`."""
        most = None if found is None else self._order.cost(found)
        # The cost needs no simulation, so all sets are compared by it before the first is
        # simulated.
        priced = [(self._order.cost(chosen), chosen) for chosen in sets]
        cheaper = [entry for entry in priced if most is None or entry[0] < most]
        # Sets are simulated from the cheapest on, so the first sufficient set is the result.
        for _, chosen in sorted(cheaper, key=lambda entry: entry[0]):
            if self._permitted(chosen) and self._sufficient(chosen):
                return chosen
        return found

    def _exchanged(self, units: list[Bundle], found: list[Bundle]) -> list[Bundle]:
        """The set after exchanging single victims for cheaper ones, expensive victims first."""
        # A simulation with many victims costs more, so larger sets get fewer exchanges.
        tries = min(EXCHANGES_MAX, max(1, EXCHANGED_PODS_MAX // len(pods_of(found))))
        others = sorted(units, key=self._order.tie)
        for victim in sorted(found, key=self._order.tie, reverse=True):
            for other in others:
                # `others` is sorted by cost, so no later bundle is cheaper than the victim.
                if self._order.added(other) >= self._order.added(victim):
                    break
                if other in found:
                    continue
                # The budget bounds simulations; without it a large level would take seconds.
                if tries == 0:
                    return found
                tries -= 1
                changed = [other, *(bundle for bundle in found if bundle is not victim)]
                changed.sort(key=self._order.key)
                if self._permitted(changed) and self._sufficient(changed):
                    found = changed
                    break
        return found

    def _sufficient(self, chosen: Sequence[Bundle]) -> bool:
        """Whether the gang fits without these bundles.

        The bound is checked first, to save simulations.
        """
        return self._bound.covers(chosen) and self._simulate(chosen) is not None

    def _together(self, units: list[Bundle]) -> list[Bundle]:
        """The bundles that all rules permit together."""
        for rule in self._rules:
            units = rule(units)
        return units

    def _permitted(self, chosen: Sequence[Bundle]) -> bool:
        """Whether all rules permit exactly this set."""
        ordered = sorted(chosen, key=self._order.key)
        return all(len(rule(ordered)) == len(ordered) for rule in self._rules)


class _Sets:
    """The victim sets of some bundles. Of each gang, a set has single pods or the whole bundle."""

    def __init__(self, units: Sequence[Bundle], order: VictimOrder, *, labels: bool) -> None:
        self._classes: dict[str, dict[tuple[object, ...], list[Bundle]]] = {}
        self._wholes: dict[str, Bundle] = {}
        for unit in units:
            alike = self._classes.setdefault(unit.group.key, {})
            if unit.whole:
                self._wholes[unit.group.key] = unit
            else:
                # Interchangeable pods free the same on the same node. So only their number matters,
                # and the number of sets stays small for jobs of many equal pods.
                alike.setdefault(_class(unit, labels=labels), []).append(unit)
        for classes in self._classes.values():
            for members in classes.values():
                members.sort(key=order.tie)  # of interchangeable pods the cheapest are chosen first

    def count(self, pods_max: int) -> int:
        """The number of sets with at most `pods_max` pods. Counting stops above `SETS_MAX`."""
        by_pods = {0: 1}
        for key, classes in self._classes.items():
            # The counts of classes and gangs are multiplied, so no set has to be enumerated.
            mine = {0: 1}
            for members in classes.values():
                mine = _times(mine, dict.fromkeys(range(len(members) + 1), 1), pods_max)
            if key in self._wholes:
                # A whole bundle already contains the single pods of its gang, so it is an
                # alternative to them and is added, not multiplied.
                size = len(self._wholes[key].pods)
                mine[size] = mine.get(size, 0) + 1
            by_pods = _times(by_pods, mine, pods_max)
            # Counts only grow, so the exact number beyond the limit does not matter.
            if sum(by_pods.values()) > SETS_MAX + 1:
                return SETS_MAX + 1
        return sum(by_pods.values()) - 1  # without the empty set

    def up_to(self, pods_max: int) -> Iterator[list[Bundle]]:
        """All sets with at most `pods_max` pods, except the empty set."""
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
    """The key by which single pods of a gang are interchangeable."""
    pod = unit.pods[0]
    pod_labels = tuple(sorted(pod.labels.items())) if labels else ()
    return (pod.task, pod.node, pod.shape.key, pod.priority, pod_labels)


def _pods(chosen: Sequence[Bundle]) -> int:
    """The number of pods in bundles that do not overlap."""
    return sum(len(bundle.pods) for bundle in chosen)


def _times(left: dict[int, int], right: dict[int, int], most: int) -> dict[int, int]:
    """The product of two counts by number of pods: how many pairs have each sum, up to `most`."""
    found: dict[int, int] = {}
    for a, times in left.items():
        for b, more in right.items():
            if a + b <= most:
                found[a + b] = found.get(a + b, 0) + times * more
    return found
