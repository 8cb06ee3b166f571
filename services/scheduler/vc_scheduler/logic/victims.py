"""Which pods may be evicted for a job, in bundles.

A job's pods beyond its minimum can go one by one: nothing breaks. Which of them go is open, so each pod
that could be spared is a bundle; how many go together `eviction/minimums.py` says. The rest can only go
together: a gang below its minimum is of no use. So a job with a minimum also gives one *whole*
bundle of everything it has. Sets of bundles are compared by `eviction/victim_order.py`.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from vc_scheduler.logic.eviction.minimums import gang_left
from vc_scheduler.logic.rows import GroupRow, PodRow, Task
from vc_scheduler.logic.session import Session

Permits = Callable[[GroupRow, PodRow], bool]


class Bundle(msgspec.Struct, frozen=True, eq=False):
    """Pods that go together or stay."""

    group: GroupRow
    pods: tuple[PodRow, ...]
    whole: bool
    """Breaks its gang."""


def bundles(
    session: Session, groups: Iterable[GroupRow], *, permits: Permits, switch: str
) -> list[Bundle]:
    """What these groups can give, in no order; `switch` says for which action."""
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
        gone = sum(pod.uid in session.evicted_uids for pod in group.placed)
        if len(allowed) + gone == len(group.placed) and group.ready >= group.min_member > 0:
            found.append(Bundle(group, tuple(reversed(allowed)), whole=True))
    tallies = session.framework.voters.tallies(session, switch=switch)
    if tallies:  # who may not even go alone; which of the others go together `limiting.py` says
        found = [b for b in found if all(tally.has_room(b.pods) for tally in tallies)]
    return found


def pods_of(bundles: Sequence[Bundle]) -> list[PodRow]:
    """Each pod once, in the order of bundles."""
    return list({pod.uid: pod for bundle in bundles for pod in bundle.pods}.values())


def _honored(session: Session, pod: PodRow) -> bool:
    """Whether its queue lets it exempt itself from eviction."""
    group = session.snapshot.everybody.get(pod.group)
    queue = session.snapshot.queues.get(group.queue) if group is not None else None
    return queue is None or queue.honors_non_preemptable


def evictable(session: Session, pod: PodRow, *, switch: str) -> bool:
    """Ours, running or bound, and nobody protects it."""
    return (
        pod.ours
        and (pod.preemptable or not _honored(session, pod))
        and pod.status in (Task.RUNNING, Task.BOUND)
        and pod.uid not in session.snapshot.spared
        and pod.uid not in session.evicted_uids
        and session.framework.voters.may_evict(session, pod, switch=switch)
    )
