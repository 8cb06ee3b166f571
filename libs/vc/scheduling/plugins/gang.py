"""gang: the minimum of a job is bound as a whole or not at all.

Bound and succeeded members count toward the minimum. Succeeded members count even after their pods
were deleted. Tasks have their own minimums where `minTaskMember` sets them; the remaining members
of `minMember` may belong to any task.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc.messages.sessions import Reason
from vc.scheduling.framework.job_points import PERMIT, REJECT, MissingMembers
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.session import reasons

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class Gang:
    """Enforces job minimums, and orders starving jobs before jobs that already have their minimum.

    A gang is evicted as a whole or keeps its minimum. With `enablePreemptable:
    true` (`enableReclaimable: true`) written, no gang is evicted below its minimum at all.
    """

    name: ClassVar[str] = "gang"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # the plugin has no arguments

    def job_order_key(self, session: "Session", group: GroupRow) -> OrderKey:
        return (not session.starving(group),)

    def job_valid_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """Refuse a job that has fewer valid pods than its minimum."""
        del session
        # Tasks are checked before the job, because a reason that names the task is more useful.
        valid = {count.task: count.valid for count in group.task_counts}
        for task, least in group.task_minimums:
            if valid.get(task, 0) < least:
                return reasons.not_enough_pods(
                    group, task=task, has=valid.get(task, 0), least=least
                )
        if group.valid < group.min_member:
            return reasons.not_enough_pods(group, task="", has=group.valid, least=group.min_member)
        return None

    def job_starving(self, session: "Session", group: GroupRow) -> bool:
        """Whether the job has not reached its minimum."""
        return session.starving(group)

    def job_pipelined_vote(self, session: "Session", group: GroupRow, *, whole: bool) -> int:
        """Reject a reservation for part of a gang: it would block resources that no job can use."""
        del session, group
        return PERMIT if whole else REJECT

    def victim_gang_minimum(self) -> bool:
        """With the switch of the action written as true, no gang is evicted below its minimum."""
        return True

    def job_ready_missing(self, group: GroupRow) -> MissingMembers:
        """Return the missing members per task, then those of any task that `minMember` adds."""
        if group.ready >= group.min_member and not group.task_minimums:
            return []
        ready = {count.task: count.ready for count in group.task_counts}
        missing: MissingMembers = []
        for task, least in group.task_minimums:
            if ready.get(task, 0) < least:
                missing.append((task, least - ready.get(task, 0)))
        # Members that are missing in a task also count toward `minMember`, so they are not
        # requested twice.
        rest = group.min_member - group.ready - sum(count for _, count in missing)
        if rest > 0:
            missing.append((None, rest))
        return missing
