"""Potential victims, in bundles of pods that are evicted together.

Surplus pods of a job can be evicted one by one without breaking the gang. Any of them may be
chosen, so each pod that the gang can do without is a bundle of its own. `eviction/minimums.py`
limits how many of these are evicted together. The other pods can only be evicted together, because
a gang below its minimum does no work. So a job with a minimum also has one *whole* bundle of all
its pods. Sets of bundles are compared by `eviction/victim_order.py`.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from vc.scheduling.eviction.minimums import gang_left
from vc.scheduling.model.rows import GroupRow, PodRow, Task
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
    keeps = session.framework.voters.keeps_gangs(switch=switch)
    found: list[Bundle] = []
    for group in groups:
        allowed = [
            pod
            for pod in group.placed
            if evictable(session, pod, switch=switch) and permits(group, pod)
        ]
        if not allowed:
            continue
        left = gang_left(session, group)
        found += [Bundle(group, (pod,), whole=False) for pod in allowed if left.can_give(pod)]
        if keeps:
            continue
        # A whole bundle exists only if every pod can be evicted: otherwise the rest of a broken
        # gang would keep its resources.
        gone = sum(pod.uid in session.decided.evicted_uids for pod in group.placed)
        if len(allowed) + gone == len(group.placed) and group.ready >= group.min_member > 0:
            found.append(Bundle(group, tuple(reversed(allowed)), whole=True))
    tallies = session.framework.voters.tallies(session, switch=switch)
    # Bundles that exceed a disruption limit on their own are dropped. `eviction/disruption.py`
    # checks the others together.
    if tallies:
        found = [b for b in found if all(tally.has_room(b.pods) for tally in tallies)]
    return found


def pods_of(bundles: Sequence[Bundle]) -> list[PodRow]:
    """The pods of the bundles, each once, in the order of the bundles."""
    return list({pod.uid: pod for bundle in bundles for pod in bundle.pods}.values())


def _honored(session: Session, pod: PodRow) -> bool:
    """Whether the pod's queue accepts that pods declare themselves non-preemptable."""
    group = session.snapshot.everybody.get(pod.group)
    queue = session.snapshot.queues.get(group.queue) if group is not None else None
    return queue is None or queue.honors_non_preemptable


def evictable(session: Session, pod: PodRow, *, switch: str) -> bool:
    """Whether the pod is ours, running or bound, and not exempt from eviction for this action."""
    return (
        pod.ours
        and (pod.preemptable or not _honored(session, pod))
        and pod.status in (Task.RUNNING, Task.BOUND)
        and pod.uid not in session.snapshot.refused_victims
        and pod.uid not in session.decided.evicted_uids
        and session.framework.voters.may_evict(session, pod, switch=switch)
    )
