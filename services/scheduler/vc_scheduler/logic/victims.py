"""Who may be evicted for whom, in bundles, cheapest first.

A job's pods beyond its minimum can go one by one: nothing breaks. The rest can only go together: a
gang below its minimum is of no use to anybody. So a job gives *spare* bundles of one pod each, last
in task order first, and one *whole* bundle of everything it has. Spare ones go before whole ones; then
lower priority first, then the larger request and fewer pods, then the younger job.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from vc_scheduler.logic.rows import GroupRow, PodRow, Task
from vc_scheduler.logic.session import Session

Permits = Callable[[GroupRow, PodRow], bool]


class Bundle(msgspec.Struct, frozen=True, eq=False):
    """Pods that go together or stay."""

    group: GroupRow
    pods: tuple[PodRow, ...]
    whole: bool
    """Breaks its gang."""


class Priced(NamedTuple):
    """A bundle and its place in the order of costs, which is total."""

    cost: tuple[object, ...]
    bundle: Bundle


def bundles(
    session: Session, groups: Iterable[GroupRow], *, permits: Permits, switch: str
) -> list[Bundle]:
    """What these groups can give, cheapest first; `switch` says for which action."""
    found = priced(session, groups, permits=permits, switch=switch)
    return [entry.bundle for entry in sorted(found)]


def priced(
    session: Session, groups: Iterable[GroupRow], *, permits: Permits, switch: str
) -> list[Priced]:
    """The same in no order, each with its cost."""
    keeps = session.framework.voters.keeps_gangs(switch=switch)
    found: list[Bundle] = []
    for group in groups:
        gone = [pod for pod in group.placed if pod.uid in session.evicted_uids]
        allowed = [
            pod
            for pod in group.placed
            if evictable(session, pod, switch=switch) and permits(group, pod)
        ]
        if not allowed:
            continue
        found += [Bundle(group, (pod,), whole=False) for pod in _spare(group, allowed, gone)]
        if keeps:
            continue
        if len(allowed) + len(gone) == len(group.placed) and group.ready >= group.min_member > 0:
            found.append(Bundle(group, tuple(reversed(allowed)), whole=True))
    tallies = session.framework.voters.tallies(session, switch=switch)
    if tallies:  # who may not even go alone; which of the others go together `limiting.py` says
        found = [b for b in found if all(tally.has_room(b.pods) for tally in tallies)]
    return [Priced(cost_key(session, bundle, spare_first=True), bundle) for bundle in found]


def pods_of(bundles: Sequence[Bundle]) -> list[PodRow]:
    """Each pod once, in the order of bundles."""
    return list({pod.uid: pod for bundle in bundles for pod in bundle.pods}.values())


def evictable(session: Session, pod: PodRow, *, switch: str) -> bool:
    """Ours, running or bound, and nobody protects it."""
    return (
        pod.ours
        and pod.preemptable
        and pod.status in (Task.RUNNING, Task.BOUND)
        and pod.uid not in session.snapshot.spared
        and pod.uid not in session.evicted_uids
        and session.framework.voters.may_evict(session, pod, switch=switch)
    )


def _spare(group: GroupRow, allowed: list[PodRow], gone: list[PodRow]) -> list[PodRow]:
    """Pods the gang can do without, last in task order first; `gone` make room for others already.

    A gang below its minimum is of no use as it is, so none of its roles keeps a pod.
    """
    ready = {count.role: count.ready for count in group.roles}
    for pod in gone:
        ready[pod.role] = ready.get(pod.role, 0) - 1
    left = group.ready - len(gone)
    if left < group.min_member:
        return allowed[::-1]
    least, beyond = dict(group.role_minimums), left - group.min_member
    spare: list[PodRow] = []
    for pod in reversed(allowed):
        if len(spare) >= beyond:
            break
        if ready.get(pod.role, 0) > least.get(pod.role, 0):
            ready[pod.role] = ready.get(pod.role, 0) - 1
            spare.append(pod)
    return spare


def cost_key(session: Session, bundle: Bundle, *, spare_first: bool) -> tuple[object, ...]:
    """A total order of bundles: what breaks nothing, low priority, large, few pods, young."""
    group, last = bundle.group, bundle.pods[0]
    return (
        bundle.whole and spare_first,
        session.priority(group),
        last.priority,
        -_size(session, bundle),
        len(bundle.pods),
        -group.created,
        group.key,
        -last.index,
        last.key,
    )


def _size(session: Session, bundle: Bundle) -> int:
    """The largest share of the cluster that a bundle frees, in millionths."""
    total: dict[str, int] = {}
    for pod in bundle.pods:
        for name, amount in pod.shape.request:
            total[name] = total.get(name, 0) + amount
    shares = [
        amount * 1_000_000 // max(1, session.cluster_amounts(name)[0])
        for name, amount in total.items()
    ]
    return max(shares, default=0)
