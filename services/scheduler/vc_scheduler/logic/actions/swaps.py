"""Tasks of one job that change places: one of higher priority comes, some of lower priority go.

The gang has its minimum, and each role its own, when that is done: a swap that leaves a gang in pieces, or
that does not make it whole when it is in pieces already, helps nobody.
"""

from collections.abc import Sequence

from vc_scheduler.logic.rows import GroupRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.victims import Bundle, evictable
from vc_scheduler.logic.voters import PREEMPTABLE


class Swap:
    """One task of a run, and those of its job that may go for it."""

    def __init__(self, session: Session, group: GroupRow, run: Run) -> None:
        self._session = session
        self._group = group
        self._priority = run.priority
        self._ready = {count.role: count.ready for count in group.roles}
        """By role, once the task has come."""
        self._ready[run.role] = self._ready.get(run.role, 0) + 1
        for pod in group.placed:
            if pod.uid in session.evicted_uids:
                self._ready[pod.role] -= 1

    def found(self) -> list[Bundle]:
        """The job's own tasks of lower priority that could go alone."""
        lower = [
            pod
            for pod in self._group.placed
            if pod.priority < self._priority
            and evictable(self._session, pod, switch=PREEMPTABLE)
            and self._has_minimums({pod.role: 1})
        ]
        return [Bundle(self._group, (pod,), whole=False) for pod in lower]

    def together(self, found: Sequence[Bundle]) -> list[Bundle]:
        """Those of them that can all go, one after the other."""
        gone: dict[str, int] = {}
        kept: list[Bundle] = []
        for bundle in found:
            role = bundle.pods[0].role
            gone[role] = gone.get(role, 0) + 1
            if self._has_minimums(gone):
                kept.append(bundle)
            else:
                gone[role] -= 1
        return kept

    def _has_minimums(self, gone: dict[str, int]) -> bool:
        """Whether the gang is whole without so many of each role."""
        if sum(self._ready.values()) - sum(gone.values()) < self._group.min_member:
            return False
        return all(
            self._ready.get(role, 0) - gone.get(role, 0) >= least
            for role, least in self._group.role_minimums
        )
