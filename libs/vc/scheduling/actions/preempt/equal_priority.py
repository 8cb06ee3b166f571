"""Preemption among jobs of equal priority in a queue: by share, and only surplus pods.

Priority does not decide between such jobs, so a plugin must accept the eviction as fair
(`framework/eviction_points.py`; drf does so if its `enablePreemptable: true` is set). An eviction is fair if
the preemptor, together with all that it lacks, has no more than each victim job has left.

The process terminates (docs/adr/0018): only a job below its minimum is a preemptor and only surplus
pods are victims, so each time one job fewer is below its minimum.
"""

from collections.abc import Sequence

from vc.model.values.resources import Resources
from vc.scheduling.eviction.victims import Bundle, Permits, bundles
from vc.scheduling.framework.eviction_points import PREEMPTABLE
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.placement.gang import Missing
from vc.scheduling.session.session import Session


class EqualPriorityVictims:
    """Victims for one preemptor among jobs of its queue whose priority is not higher."""

    def __init__(self, session: Session, group: GroupRow, missing: Missing) -> None:
        self._session = session
        self._group = group
        self._priority = session.priority(group)
        self._preemptor_after = _most_after(session, group, missing)

    def found(self, permits: Permits) -> list[Bundle]:
        """Bundles of jobs of lower priority, then surplus pods of jobs of equal priority.

        Empty if no job of equal priority has a fair victim: the search with lower priority alone
        has already failed.
        """
        session = self._session
        others = [
            other
            for other in session.snapshot.all_groups.values()
            if other.queue == self._group.queue
            and other.key != self._group.key
            and other.placed
            and session.priority(other) <= self._priority
        ]
        # Whole bundles of jobs of equal priority are left out below, because these keep their
        # minimums.
        given = bundles(session, others, permits=permits, switch=PREEMPTABLE)
        equal = [b for b in given if self._is_equal(b) and not b.whole and self.fair([b])]
        return [*(b for b in given if not self._is_equal(b)), *equal] if equal else []

    def together(self, found: Sequence[Bundle]) -> list[Bundle]:
        """The bundles that may be evicted together, chosen one after the other.

        A rule of the search.
        """
        given: dict[str, list[Bundle]] = {}
        kept: list[Bundle] = []
        for bundle in found:
            if self._is_equal(bundle):
                mine = given.setdefault(bundle.group.key, [])
                if not self.fair([*mine, bundle]):
                    continue
                mine.append(bundle)
            kept.append(bundle)
        return kept

    def fair(self, chosen: Sequence[Bundle]) -> bool:
        """Whether evicting these bundles together is fair to each victim job of equal priority."""
        freed: dict[str, tuple[GroupRow, list[PodRow]]] = {}
        for bundle in chosen:
            if self._is_equal(bundle):
                freed.setdefault(bundle.group.key, (bundle.group, []))[1].extend(bundle.pods)
        return all(self._yields(group, pods) for group, pods in freed.values())

    def _is_equal(self, bundle: Bundle) -> bool:
        """Whether the job of the bundle has the priority of the preemptor."""
        return self._session.priority(bundle.group) == self._priority

    def _yields(self, victim: GroupRow, pods: list[PodRow]) -> bool:
        """Whether the plugins accept these victims of one job, with its earlier victims counted."""
        session = self._session
        earlier = [pod for pod in victim.placed if pod.uid in session.decided.evicted_uids]
        # Victims chosen earlier in the session are still on their nodes, so they are subtracted here.
        freed = Resources.total(pod.shape.request for pod in (*earlier, *pods))
        left = session.group_allocated(victim) - freed
        return session.framework.evictions.equal_priority_preemptable(
            session, preemptor=self._preemptor_after, victim=left
        )


def _most_after(session: Session, group: GroupRow, missing: Missing) -> Resources:
    """What the job would have with its missing pods; the largest pods count where any would do.

    Counting the largest is the safe side: the preemptor's share is never underestimated.
    """
    total = session.group_allocated(group)
    waiting = [pod for run in group.runs for pod in session.waiting_pods(run)]
    for name in sorted({name for pod in waiting for name, _ in pod.shape.request}):
        requested = [(dict(pod.shape.request).get(name, 0), pod.task) for pod in waiting]
        total[name] += _largest(requested, missing)
    return total


def _largest(requested: list[tuple[int, str]], missing: Missing) -> int:
    """The largest sum of one resource that the missing number of pods of each task can request."""
    left = sorted(requested, reverse=True)
    total = 0
    for task, count in missing:
        taken = [entry for entry in left if task in (None, entry[1])][:count]
        total += sum(amount for amount, _ in taken)
        for entry in taken:
            left.remove(entry)
    return total
