"""Preemption within a job: pods of lower priority are evicted for a waiting pod of higher priority.

Afterwards the gang must have its minimum, and each task its own minimum. An exchange that breaks
the gang, or that does not complete a gang that is below its minimum, is useless and is not made.
"""

from collections.abc import Sequence

from vc.scheduling.eviction.victims import Bundle, evictable
from vc.scheduling.framework.eviction_points import PREEMPTABLE
from vc.scheduling.model.rows import GroupRow, Run
from vc.scheduling.session.session import Session


class WithinJobVictims:
    """One waiting pod of a run, and the potential victims for it in its own job."""

    def __init__(self, session: Session, group: GroupRow, run: Run) -> None:
        self._session = session
        self._group = group
        self._priority = run.priority
        self._ready = {count.task: count.ready for count in group.task_counts}
        """Ready pods by task, with the waiting pod counted as placed."""
        self._ready[run.task] = self._ready.get(run.task, 0) + 1
        for pod in group.placed:
            if pod.uid in session.decided.evicted_uids:
                self._ready[pod.task] -= 1

    def found(self) -> list[Bundle]:
        """One bundle per evictable pod of lower priority without which the minimums still hold."""
        lower = [
            pod
            for pod in self._group.placed
            if pod.priority < self._priority
            and evictable(self._session, pod, switch=PREEMPTABLE)
            and self._has_minimums({pod.task: 1})
        ]
        return [Bundle(self._group, (pod,), whole=False) for pod in lower]

    def together(self, found: Sequence[Bundle]) -> list[Bundle]:
        """The bundles that can be evicted together, chosen one after the other.

        A rule of the search.
        """
        gone: dict[str, int] = {}
        kept: list[Bundle] = []
        for bundle in found:
            task = bundle.pods[0].task
            gone[task] = gone.get(task, 0) + 1
            if self._has_minimums(gone):
                kept.append(bundle)
            else:
                gone[task] -= 1
        return kept

    def _has_minimums(self, gone: dict[str, int]) -> bool:
        """Whether the gang keeps all minimums when so many pods of each task are evicted."""
        if sum(self._ready.values()) - sum(gone.values()) < self._group.min_member:
            return False
        return all(
            self._ready.get(task, 0) - gone.get(task, 0) >= least
            for task, least in self._group.task_minimums
        )
