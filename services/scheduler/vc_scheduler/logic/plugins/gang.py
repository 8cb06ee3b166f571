"""gang: a job's minimum is bound whole or not at all.

Bound and succeeded members count. Roles have minimums of their own where `minTaskMember` says so;
what is left to `minMember` may be of any role.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.voters import PERMIT, REJECT

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class Gang:
    """Minimum, validity, and starving jobs before those that only grow.

    A gang may have to leave as a whole, but never in part. With `enablePreemptable: true`
    (`enableReclaimable: true`) written, no gang falls below its minimum for others at all.
    """

    name: ClassVar[str] = "gang"
    keeps_gangs: ClassVar[bool] = True

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey:
        return (not session.starving(group),)

    def refuse_job(self, session: "Session", group: GroupRow) -> Reason | None:
        """A gang whose pods are not all there cannot be whole."""
        del session
        roles = {count.role: count.valid for count in group.roles}
        for role, least in group.role_minimums:
            if roles.get(role, 0) < least:
                return reasons.not_enough_pods(
                    group, role=role, has=roles.get(role, 0), least=least
                )
        if group.valid < group.min_member:
            return reasons.not_enough_pods(group, role="", has=group.valid, least=group.min_member)
        return None

    def starves(self, session: "Session", group: GroupRow) -> bool:
        """Has not its minimum yet."""
        return session.starving(group)

    def hold_vote(self, session: "Session", group: GroupRow, *, whole: bool) -> int:
        """Room for a part of a gang is not kept: it would be of no use to anybody."""
        del session, group
        return PERMIT if whole else REJECT

    def missing(self, group: GroupRow) -> list[tuple[str | None, int]]:
        """Per role what it lacks, then what the whole lacks beyond that."""
        if group.ready >= group.min_member and not group.role_minimums:
            return []
        ready = {count.role: count.ready for count in group.roles}
        missing: list[tuple[str | None, int]] = []
        for role, least in group.role_minimums:
            if ready.get(role, 0) < least:
                missing.append((role, least - ready.get(role, 0)))
        rest = group.min_member - group.ready - sum(count for _, count in missing)
        if rest > 0:
            missing.append((None, rest))
        return missing
