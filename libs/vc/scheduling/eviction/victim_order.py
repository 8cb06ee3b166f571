"""One order of victim sets, used by preempt and reclaim, between jobs and within a job.

Sets are compared by these terms, in this order:

1. whether a gang falls below its minimum;
2. the highest priority among the victims; lower is better;
3. the number of victims; every pod of a broken gang counts;
4. the work lost; less is better;
5. the earliest start among the victims; later is better;
6. the names.

`VictimSetCost` has these terms as a tuple. The smaller tuple is better, and the tuples of two
different sets are never equal.

Definitions:

- Priority: the priority of the job, then of the pod, so that the same comparison works within a
  job.
- Work lost: for each victim its run time in whole seconds times its size, added up. The run time
  counts from `status.startTime` to the session's time. A pod that has not started has lost nothing.
  The size is the largest share of the cluster that the pod requests, in millionths, and at least
  one.
- Start: `status.startTime`, else the creation of the pod, else the creation of its pod group.
- Name: the name of the job. Within a job the last pod in task order comes first, so that pods with
  low indices keep running.

Reclaim has one more term before the names (`VictimOrder.ranked`): if all other terms are equal,
victims come from the nearer queue first, then from the queue with the largest part of its share.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vc.model.values.times import parse_time
from vc.scheduling.eviction.victims import Bundle, pods_of
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.session.session import Session

Priority = tuple[int, int]
"""The priority of a job, then of a pod."""

Rank = tuple[int, int]
"""The rank of a victim queue; victims come from the smaller rank first."""


class Level(NamedTuple):
    """The first two terms of the order, as an upper limit for the bundles of a victim set."""

    breaks_gang: bool
    priority: Priority


class VictimSetCost(NamedTuple):
    """The cost of a victim set; smaller is better."""

    breaks_gang: bool
    max_priority: Priority
    pods: int
    work_lost: int
    earliest_start: float
    """Negated, so that a later start is smaller."""
    queue_rank: Rank
    """The largest rank among the victims' queues; always the same except for reclaim."""
    names: tuple[tuple[str, int, str], ...]


class _Victim(NamedTuple):
    """The terms of one pod, computed once."""

    size: int
    work: int
    start: float
    name: tuple[str, int, str]


class _Unit(NamedTuple):
    """The terms of one bundle, computed once."""

    level: Level
    added: tuple[int, int]
    key: tuple[int, int, int, float, Rank, tuple[str, int, str]]


class VictimOrder:
    """The order over the pods of one session. Terms of pods and bundles are computed once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rank: Callable[[str], Rank] = _no_rank
        self._victims: dict[str, _Victim] = {}
        self._sizes: dict[bytes, int] = {}
        self._units: dict[tuple[str, bool], _Unit] = {}

    def ranked(self, rank: Callable[[str], Rank]) -> "VictimOrder":
        """The same order with the rank of queues as a term before the names, for reclaim."""
        # A new order instead of a changed one: the order of the session is shared by all
        # preemptors, and each claimant queue ranks the victim queues differently.
        order = VictimOrder(self._session)
        order._rank = rank
        # The terms of pods do not depend on queues and are shared. Those of bundles contain the
        # rank.
        order._victims, order._sizes = self._victims, self._sizes
        return order

    def cost(self, chosen: Sequence[Bundle]) -> VictimSetCost:
        """The cost of a victim set, which must not be empty."""
        victims = self._all(chosen)
        return VictimSetCost(
            breaks_gang=any(bundle.whole for bundle in chosen),
            max_priority=max(self.level(bundle).priority for bundle in chosen),
            pods=len(victims),
            work_lost=sum(victim.work for victim in victims),
            earliest_start=-min(victim.start for victim in victims),
            queue_rank=max(self._rank(bundle.group.queue) for bundle in chosen),
            # The names make the order total. Without them, equal sets would be chosen by the order
            # in which they were enumerated, and a replay might choose another one.
            names=tuple(sorted(victim.name for victim in victims)),
        )

    def level(self, bundle: Bundle) -> Level:
        """The lowest level at which a set may contain this bundle."""
        return self._unit(bundle).level

    def added(self, bundle: Bundle) -> tuple[int, int]:
        """Number of pods and work lost: the terms of the cost that are sums over the bundles."""
        return self._unit(bundle).added

    def key(self, bundle: Bundle) -> tuple[object, ...]:
        """The sort key of bundles within one level: a total order.

        Large pods come before small ones, because fewer of them are sufficient. The other terms are
        those of the comparison of sets.
        """
        return self._unit(bundle).key

    def tie(self, bundle: Bundle) -> tuple[object, ...]:
        """Pods, work, start, queue rank and name of a bundle, in the order of `VictimSetCost`."""
        return self._unit(bundle).key[1:]

    def _unit(self, bundle: Bundle) -> "_Unit":
        """The terms of a bundle, computed on first use."""
        # A whole gang and a single pod of it may be bundles that start with the same pod.
        asked = (bundle.pods[0].uid, bundle.whole)
        known = self._units.get(asked)
        if known is None:
            known = self._units[asked] = self._make_unit(bundle)
        return known

    def _make_unit(self, bundle: Bundle) -> "_Unit":
        """Compute the terms of a bundle."""
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
        """The terms of all pods of the bundles, each pod once."""
        for bundle in chosen:
            if bundle.pods[0].uid not in self._victims:
                self._learn(bundle.group)
        return [self._victims[pod.uid] for pod in pods_of(chosen)]

    def _learn(self, group: GroupRow) -> None:
        """Compute the terms of all pods of a group that are on nodes."""
        # Counted from the end, so that of equal pods the last one in task order is evicted first.
        for back, pod in enumerate(reversed(group.placed)):
            started, created = _seconds(pod.started), _seconds(pod.creation_timestamp)
            size = self._size(pod.shape)
            self._victims[pod.uid] = _Victim(
                size=size,
                # A pod without requests, or one that rounds to nothing, still loses the
                # time it ran.
                work=_run_seconds(started, self._session.now) * max(1, size),
                # A pod that is bound and not started has no start time. Its creation is the best
                # estimate, so that it does not sort as the oldest pod of all.
                start=started or created or group.created,
                name=(group.key, back, pod.key),
            )

    def _size(self, shape: Shape) -> int:
        """The largest share of the cluster that a shape requests, in millionths."""
        known = self._sizes.get(shape.key)
        if known is None:
            shares = [
                # The cluster may have none of a resource any more when its last node was deleted.
                amount * 1_000_000 // max(1, self._session.cluster_amounts(name)[0])
                for name, amount in shape.request
            ]
            known = self._sizes[shape.key] = max(shares, default=0)
        return known


def _no_rank(queue: str) -> Rank:
    """The same rank for every queue."""
    del queue
    return (0, 0)


def _run_seconds(started: float | None, now: float) -> int:
    """Whole seconds since the start; 0 for a pod that has not started."""
    return 0 if started is None else max(0, int(now) - int(started))


@functools.lru_cache(maxsize=65_536)
def _seconds(text: str) -> float | None:
    """A timestamp of the API in seconds; None if it is absent or invalid."""
    try:
        return parse_time(text)
    except ValueError:
        return None
