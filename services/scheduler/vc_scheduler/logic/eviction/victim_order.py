"""One order of victim sets, for preempt, reclaim, equal priority and within a job.

Sets are compared by (1) whether a gang falls below its minimum; (2) the highest priority among the
victims, lower is better; (3) the number of victims, where every pod of a broken gang is one; (4) the work
that is lost; (5) the earliest start among them, later is better; (6) the names. `VictimSetCost` is that
order as a tuple of values: smaller is better, and two different sets are never equal.

Definitions:

- Priority: of the job, then of the pod, so that the same comparison decides within a job.
- Work lost: for each victim its run time in whole seconds times its size, added up. The run time counts
  from `status.startTime` to the session's time; a pod that has not started has lost nothing. The size is
  the largest share of the cluster that it requests, in millionths, and at least one.
- Start: `status.startTime`, else the creation of the pod, else that of its pod group.
- Name: of the job; within a job the last pod in task order is the first, so that pods with low
  indices stay.

For reclaim there is one more term before the names (`VictimOrder.ranked`): where all else is equal, the
nearer queue gives before the farther one, and the one that has more of its share before the others.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vc_model.times import parse_time
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.victims import Bundle, pods_of

Priority = tuple[int, int]
"""Of a job, and of a pod."""

Rank = tuple[int, int]
"""Of a queue among those that give; smaller gives first."""


class Level(NamedTuple):
    """The first two terms of the order: what a set of victims may contain at most."""

    breaks_gang: bool
    priority: Priority


class VictimSetCost(NamedTuple):
    """What it costs to evict a set; smaller is better."""

    breaks_gang: bool
    max_priority: Priority
    pods: int
    work_lost: int
    earliest_start: float
    """Negated, so that a later start is smaller."""
    queue_rank: Rank
    """The last of the victims' queues; always the same except for reclaim."""
    names: tuple[tuple[str, int, str], ...]


class _Victim(NamedTuple):
    """What the order knows of one pod."""

    size: int
    work: int
    start: float
    name: tuple[str, int, str]


class _Unit(NamedTuple):
    """What the order knows of one bundle."""

    level: Level
    added: tuple[int, int]
    key: tuple[int, int, int, float, Rank, tuple[str, int, str]]


class VictimOrder:
    """The order over the pods of one session; facts about pods are computed once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rank: Callable[[str], Rank] = _no_rank
        self._victims: dict[str, _Victim] = {}
        self._sizes: dict[bytes, int] = {}
        self._units: dict[tuple[str, bool], _Unit] = {}

    def ranked(self, rank: Callable[[str], Rank]) -> "VictimOrder":
        """The same order, where queues decide before names."""
        order = VictimOrder(self._session)
        order._rank = rank
        order._victims, order._sizes = self._victims, self._sizes
        return order

    def cost(self, chosen: Sequence[Bundle]) -> VictimSetCost:
        """Of a set that is not empty."""
        victims = self._all(chosen)
        return VictimSetCost(
            breaks_gang=any(bundle.whole for bundle in chosen),
            max_priority=max(self.level(bundle).priority for bundle in chosen),
            pods=len(victims),
            work_lost=sum(victim.work for victim in victims),
            earliest_start=-min(victim.start for victim in victims),
            queue_rank=max(self._rank(bundle.group.queue) for bundle in chosen),
            names=tuple(sorted(victim.name for victim in victims)),
        )

    def level(self, bundle: Bundle) -> Level:
        """The least level at which a set may contain this bundle."""
        return self._unit(bundle).level

    def added(self, bundle: Bundle) -> tuple[int, int]:
        """Pods and work: the terms of a set's cost that are sums over its bundles."""
        return self._unit(bundle).added

    def key(self, bundle: Bundle) -> tuple[object, ...]:
        """The order in which bundles of one level are considered, which is total: large pods before small
        ones, since fewer of them are enough; then as sets are compared."""
        return self._unit(bundle).key

    def tie(self, bundle: Bundle) -> tuple[object, ...]:
        """Pods, work, start and name of a bundle, as sets are compared."""
        return self._unit(bundle).key[1:]

    def _unit(self, bundle: Bundle) -> "_Unit":
        asked = (bundle.pods[0].uid, bundle.whole)
        known = self._units.get(asked)
        if known is None:
            known = self._units[asked] = self._make_unit(bundle)
        return known

    def _make_unit(self, bundle: Bundle) -> "_Unit":
        victims = self._all([bundle])
        pods, work = len(victims), sum(victim.work for victim in victims)
        return _Unit(
            level=Level(
                bundle.whole,
                (self._session.priority(bundle.group), max(pod.priority for pod in bundle.pods)),
            ),
            added=(pods, work),
            key=(
                -max(victim.size for victim in victims),
                pods,
                work,
                -min(victim.start for victim in victims),
                self._rank(bundle.group.queue),
                min(victim.name for victim in victims),
            ),
        )

    def _all(self, chosen: Sequence[Bundle]) -> list[_Victim]:
        for bundle in chosen:
            if bundle.pods[0].uid not in self._victims:
                self._learn(bundle.group)
        return [self._victims[pod.uid] for pod in pods_of(chosen)]

    def _learn(self, group: GroupRow) -> None:
        for back, pod in enumerate(reversed(group.placed)):
            started, created = _seconds(pod.started), _seconds(pod.creation_timestamp)
            size = self._size(pod.shape)
            self._victims[pod.uid] = _Victim(
                size=size,
                work=_run_seconds(started, self._session.now) * max(1, size),
                start=started or created or group.created,
                name=(group.key, back, pod.key),
            )

    def _size(self, shape: Shape) -> int:
        known = self._sizes.get(shape.key)
        if known is None:
            shares = [
                amount * 1_000_000 // max(1, self._session.cluster_amounts(name)[0])
                for name, amount in shape.request
            ]
            known = self._sizes[shape.key] = max(shares, default=0)
        return known


def _no_rank(queue: str) -> Rank:
    del queue
    return (0, 0)


def _run_seconds(started: float | None, now: float) -> int:
    return 0 if started is None else max(0, int(now) - int(started))


@functools.lru_cache(maxsize=65_536)
def _seconds(text: str) -> float | None:
    """A time of the API; None where it is absent or cannot be read."""
    try:
        return parse_time(text)
    except ValueError:
        return None
