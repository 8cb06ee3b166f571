"""The order of victim sets and the search for the cheapest, with plain loops.

Sets are compared by: whether a gang breaks; the highest priority; pods; work lost (seconds since
their start times the largest part of the cluster they ask for, in millionths, at least one); the earliest
start, later first; for reclaim the queue; the names, the last pod of a job first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from tests.reference.cluster import Job, Pod
from tests.reference.session import Session
from tests.reference.shares import MILLION

SETS, EXCHANGES, EXCHANGED_PODS = 512, 64, 4096
"""How many sets are compared one by one; where there are more, how many exchanges are tried."""

Level = tuple[bool, tuple[int, int]]


@dataclass(eq=False)
class Bundle:
    """Pods that go together or stay."""

    job: Job
    pods: list[Pod]
    whole: bool


Chosen = list[Bundle]
Rule = Callable[[Chosen], Chosen]
Simulate = Callable[[Chosen], list[str] | None]


def pods_of(chosen: Sequence[Bundle]) -> list[Pod]:
    return list({pod.name: pod for bundle in chosen for pod in bundle.pods}.values())


class Order:
    """Over the bundles of a session at a time."""

    def __init__(
        self, session: Session, rank: Callable[[str], tuple[int, int]] = lambda queue: (0, 0)
    ) -> None:
        self._session = session
        self._rank = rank

    def cost(self, chosen: Chosen) -> tuple[object, ...]:
        pods = pods_of(chosen)
        jobs = {bundle.job.key: bundle.job for bundle in chosen}
        return (
            any(bundle.whole for bundle in chosen),
            max(self.level(bundle)[1] for bundle in chosen),
            len(pods),
            sum(self._work(pod) for pod in pods),
            -min(self._start(jobs[pod.job], pod) for pod in pods),
            max(self._rank(job.queue) for job in jobs.values()),
            sorted(self._name(jobs[pod.job], pod) for pod in pods),
        )

    def level(self, bundle: Bundle) -> Level:
        return (bundle.whole, (bundle.job.priority, max(pod.priority for pod in bundle.pods)))

    def added(self, bundle: Bundle) -> tuple[int, int]:
        return (len(bundle.pods), sum(self._work(pod) for pod in bundle.pods))

    def key(self, bundle: Bundle) -> tuple[object, ...]:
        return (-max(self._size(pod) for pod in bundle.pods), *self.tie(bundle))

    def tie(self, bundle: Bundle) -> tuple[object, ...]:
        job = bundle.job
        return (
            *self.added(bundle),
            -min(self._start(job, pod) for pod in bundle.pods),
            self._rank(job.queue),
            min(self._name(job, pod) for pod in bundle.pods),
        )

    def _size(self, pod: Pod) -> int:
        total = self._session.cluster.total
        return max(amount * MILLION // max(1, total(n)) for n, amount in pod.request.items())

    def _work(self, pod: Pod) -> int:
        run = 0 if pod.started is None else max(0, int(self._session.now) - int(pod.started))
        return run * max(1, self._size(pod))

    def _start(self, job: Job, pod: Pod) -> float:
        return pod.started or pod.created or job.created

    def _name(self, job: Job, pod: Pod) -> tuple[str, int, str]:
        return (job.key, len(job.placed) - job.placed.index(pod), pod.name)


class Search:
    """For one job."""

    def __init__(
        self, order: Order, rules: list[Rule], simulate: Simulate, *, monotone: bool
    ) -> None:
        self._order = order
        self._rules = rules
        self._simulate = simulate
        self._monotone = monotone

    def best(self, offered: Chosen) -> Chosen | None:
        units = sorted(offered, key=self._order.key)
        for level in self._levels(units):
            within = [
                u for u in units if u.whole <= level[0] and self._order.level(u)[1] <= level[1]
            ]
            if self._monotone and self._simulate(within) is None:
                continue
            found = self._at_level(within)
            if found is not None:
                return found
        return None

    def _levels(self, units: Chosen) -> list[Level]:
        singles = {self._order.level(u)[1] for u in units if not u.whole}
        wholes = {self._order.level(u)[1] for u in units if u.whole}
        breaking = {p for p in singles | wholes if wholes and p >= min(wholes)}
        return [*((False, p) for p in sorted(singles)), *((True, p) for p in sorted(breaking))]

    def _at_level(self, units: Chosen) -> Chosen | None:
        found = self._greedy(units)
        if found == []:
            return found
        most = len(pods_of(units if found is None else found))
        sets = self._sets(units, most)
        if sets is None:
            return None if found is None else self._exchanged(units, found)
        cheaper = [
            (self._order.cost(chosen), chosen)
            for chosen in sets
            if found is None or self._order.cost(chosen) < self._order.cost(found)
        ]
        for _, chosen in sorted(cheaper, key=lambda entry: entry[0]):
            if self._permitted(chosen) and self._simulate(chosen) is not None:
                return chosen
        return found

    def _greedy(self, units: Chosen) -> Chosen | None:
        together = units
        for rule in self._rules:
            together = rule(together)
        found = self._needed(together)
        if found is None and len(together) < len(units):
            found = self._needed(units)
            return found if found is not None and self._permitted(found) else None
        return found

    def _needed(self, offered: Chosen) -> Chosen | None:
        """The shortest row that is enough, without those not needed after all."""
        for count in range(1, len(offered) + 1):
            chosen = offered[:count]
            nodes = self._simulate(chosen)
            if nodes is not None:
                near = [b for b in chosen if any(pod.node in nodes for pod in b.pods)]
                if self._simulate(near) is not None:
                    chosen = near
                dearest = sorted(chosen, key=lambda b: (len(b.pods), self._order.key(b)))
                for bundle in reversed(dearest):
                    without = [other for other in chosen if other is not bundle]
                    if self._simulate(without) is not None:
                        chosen = without
                return chosen
        return None

    def _sets(self, units: Chosen, most: int) -> list[Chosen] | None:
        """All sets of at most so many pods, where of pods that are alike the cheapest go first; None when
        there are too many."""
        sets: list[Chosen] = [[]]
        for job in {u.job.key: None for u in units}:
            mine: list[Chosen] = [[]]
            alike: dict[str, Chosen] = {}
            for unit in [u for u in units if u.job.key == job and not u.whole]:
                pod = unit.pods[0]
                alike.setdefault(str((pod.node, pod.kind, pod.labels)), []).append(unit)
            for members in alike.values():
                members.sort(key=self._order.tie)
                parts = [members[:n] for n in range(len(members) + 1)]
                mine = [[*a, *b] for a, b in product(mine, parts) if len(a) + len(b) <= most]
                if len(mine) > SETS + 1:
                    return None
            mine += [[u] for u in units if u.job.key == job and u.whole]
            sets = [[*a, *b] for a, b in product(sets, mine) if len(pods_of([*a, *b])) <= most]
            if len(sets) > SETS + 1:
                return None
        return [chosen for chosen in sets if chosen]

    def _exchanged(self, units: Chosen, found: Chosen) -> Chosen:
        tries = min(EXCHANGES, max(1, EXCHANGED_PODS // len(pods_of(found))))
        for victim in sorted(found, key=self._order.tie, reverse=True):
            for other in sorted(units, key=self._order.tie):
                if other in found or self._order.added(other) >= self._order.added(victim):
                    continue
                if tries == 0:
                    return found
                tries -= 1
                changed = [other, *(bundle for bundle in found if bundle is not victim)]
                changed.sort(key=self._order.key)
                if self._permitted(changed) and self._simulate(changed) is not None:
                    found = changed
                    break
        return found

    def _permitted(self, chosen: Chosen) -> bool:
        ordered = sorted(chosen, key=self._order.key)
        return all(len(rule(ordered)) == len(ordered) for rule in self._rules)
