"""Potential victims, in bundles of pods that are evicted together.

Surplus pods of a job can be evicted one by one without breaking the gang. Any of them may be
chosen, so each pod that the gang can do without is a bundle of its own. The other pods can only be evicted together, because
a gang below its minimum does no work. So a job with a minimum also has one *whole* bundle of all
its pods. Sets of bundles are compared by `eviction/victim_order.py`.

Two rules limit which bundles are evicted together: gangs keep their minimums (`Minimums`), and
plugins such as pdb limit disruption (`DisruptionLimits`).
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from vc.scheduling.framework.eviction_points import VictimCounter
from vc.scheduling.model.rows import GroupRow, PodRow, TaskStatus
from vc.scheduling.session.session import Session

Permits = Callable[[GroupRow, PodRow], bool]
"""Whether an action accepts a pod of a group as a victim."""


class Bundle(msgspec.Struct, frozen=True, eq=False):
    """Pods of one job that are evicted together or not at all."""

    group: GroupRow
    pods: tuple[PodRow, ...]
    whole: bool
    """All pods of the job: evicting the bundle breaks the gang."""


def bundles(
    session: Session, groups: Iterable[GroupRow], *, permits: Permits, switch: str
) -> list[Bundle]:
    """The bundles of these groups, in no order. `switch` is PREEMPTABLE or RECLAIMABLE."""
    keeps = session.framework.evictions.keeps_gang_minimum(switch=switch)
    found: list[Bundle] = []
    for group in groups:
        allowed = [
            pod
            for pod in group.placed
            if evictable(session, pod, switch=switch) and permits(group, pod)
        ]
        if not allowed:
            continue
        # Counted for each pod on its own; `Minimums` limits how many of them are evicted together.
        left = gang_left(session, group)
        found += [Bundle(group, (pod,), whole=False) for pod in allowed if left.can_give(pod)]
        if keeps:
            continue
        # A whole bundle exists only if every pod can be evicted: otherwise the rest of a broken
        # gang would keep its resources.
        # Victims of this session are not in `allowed` any more, but they do not keep
        # resources either.
        gone = sum(pod.uid in session.decided.evicted_uids for pod in group.placed)
        if len(allowed) + gone == len(group.placed) and group.ready >= group.min_member > 0:
            found.append(Bundle(group, tuple(reversed(allowed)), whole=True))
    counters = session.framework.evictions.victim_counters(session, switch=switch)
    # Bundles that exceed a disruption limit on their own are dropped. `DisruptionLimits`
    # checks the others together.
    if counters:
        found = [b for b in found if all(counter.allows(b.pods) for counter in counters)]
    return found


def pods_of(bundles: Sequence[Bundle]) -> list[PodRow]:
    """The pods of the bundles, each once, in the order of the bundles."""
    return list({pod.uid: pod for bundle in bundles for pod in bundle.pods}.values())


def _honored(session: Session, pod: PodRow) -> bool:
    """Whether the pod's queue accepts that pods declare themselves non-preemptable."""
    group = session.snapshot.all_groups.get(pod.group)
    queue = session.snapshot.queues.get(group.queue) if group is not None else None
    return queue is None or queue.honors_non_preemptable


def evictable(session: Session, pod: PodRow, *, switch: str) -> bool:
    """Whether the pod is ours, running or bound, and not exempt from eviction for this action."""
    return (
        pod.ours
        and (pod.preemptable or not _honored(session, pod))
        and pod.status in (TaskStatus.RUNNING, TaskStatus.BOUND)
        and pod.uid not in session.snapshot.evictions.refused_victims
        and pod.uid not in session.decided.evicted_uids
        and session.framework.evictions.may_evict(session, pod, switch=switch)
    )


class Minimums:
    """Counts the pods that each gang keeps, without the victims of this session.

    A gang that is already below its minimum does no work, so each of its pods may be evicted on its
    own. Bundles of a whole gang are not counted here: the order of victim sets accounts for a
    broken gang.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def together(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """The bundles that can be evicted together with all accepted bundles before them."""
        # New counts per call: the search asks about many sets, and none of them is evicted yet.
        left: dict[str, GangLeft] = {}
        kept: list[Bundle] = []
        for bundle in bundles:
            if bundle.whole:
                kept.append(bundle)
                continue
            group = bundle.group
            if group.key not in left:
                left[group.key] = gang_left(self._session, group)
            if left[group.key].give(bundle.pods[0]):
                kept.append(bundle)
        return kept


class GangLeft:
    """Counts of the remaining pods of one gang, in total and by task."""

    def __init__(self, group: GroupRow, gone: Sequence[PodRow]) -> None:
        """`gone` are pods of the gang that were chosen as victims before."""
        self._least = dict(group.task_minimums)
        self._ready = {count.task: count.ready for count in group.task_counts}
        for pod in gone:
            self._ready[pod.task] = self._ready.get(pod.task, 0) - 1
        self._beyond = group.ready - len(gone) - group.min_member
        # Decided once: a gang that is complete here keeps its minimum. Only a gang that was broken
        # before may lose any pod.
        self._broken = self._beyond < 0

    def can_give(self, pod: PodRow) -> bool:
        """Whether this pod may be evicted: the gang keeps its minimums, or is already broken."""
        if self._broken:
            return True
        # Both limits apply. A job may have surplus pods in total while one of its tasks has none.
        return self._beyond > 0 and self._ready.get(pod.task, 0) > self._least.get(pod.task, 0)

    def give(self, pod: PodRow) -> bool:
        """Count the pod as evicted if `can_give` allows it; return whether it does."""
        if not self.can_give(pod):
            return False
        self._beyond -= 1
        self._ready[pod.task] = self._ready.get(pod.task, 0) - 1
        return True


def gang_left(session: Session, group: GroupRow) -> GangLeft:
    """The counts of a gang without the victims that the session has chosen so far."""
    return GangLeft(group, [pod for pod in group.placed if pod.uid in session.decided.evicted_uids])


class DisruptionLimits:
    """The disruption limits of one action: `switch` is PREEMPTABLE or RECLAIMABLE."""

    def __init__(self, session: Session, *, switch: str) -> None:
        self._session = session
        self._switch = switch

    @property
    def any(self) -> bool:
        """Whether any plugin limits evictions."""
        return bool(self._counters())

    def together(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """The bundles that may be evicted together with all accepted bundles before them."""
        counters = self._counters()
        if not counters:
            return list(bundles)
        gone: dict[str, None] = {}
        kept: list[Bundle] = []
        for bundle in bundles:
            # A whole gang and its single pods overlap, and a pod counts only once against a limit.
            more = [pod for pod in bundle.pods if pod.uid not in gone]
            if _count(counters, more):
                kept.append(bundle)
                gone.update({pod.uid: None for pod in more})
        return kept

    def _counters(self) -> list[VictimCounter]:
        """New counts of the limits, with the victims of the session so far."""
        return self._session.framework.evictions.victim_counters(self._session, switch=self._switch)


def _count(counters: Sequence[VictimCounter], pods: Sequence[PodRow]) -> bool:
    """Count the pods against all limits, or against none if one limit does not allow them."""
    # All limits are checked before any of them counts: a pod that one limit refuses must not use up
    # another one.
    if not all(counter.allows(pods) for counter in counters):
        return False
    for counter in counters:
        counter.count(pods)
    return True
