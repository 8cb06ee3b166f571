"""sla: a job that has waited as long as it was promised to at most goes first (behaviour.md 5.7).

Until then jobs are ordered by when their time is up. From then on the job is let in whatever later
tiers say, and keeps the room it finds even where that is not enough for all of it yet (as far as
gang does not object: see `enableJobPipelined`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vc_model.keys import SLA_WAITING_TIME, SLA_WAITING_TIME_LEGACY
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.plugins.arguments import seconds
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.voters import ABSTAIN, PERMIT

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

_NEVER: Final = float("inf")


class Sla:
    """Order, admission and holding by deadline."""

    name: ClassVar[str] = "sla"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._default = seconds(arguments.get(SLA_WAITING_TIME_LEGACY, ""))
        self._deadlines: dict[str, float] = {}

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey:
        del session
        return (self._deadline(group),)

    def lets_in(self, session: "Session", group: GroupRow) -> bool:
        """Whether its time is up; else a session is wanted when it will be."""
        return self._is_up(session, group)

    def hold_vote(self, session: "Session", group: GroupRow, *, whole: bool) -> int:
        del whole
        return PERMIT if self._is_up(session, group) else ABSTAIN

    def _is_up(self, session: "Session", group: GroupRow) -> bool:
        deadline = self._deadline(group)
        if deadline == _NEVER:
            return False
        if session.now < deadline:
            session.wake(deadline)
            return False
        return True

    def _deadline(self, group: GroupRow) -> float:
        known = self._deadlines.get(group.key)
        if known is None:
            written = group.annotations.get(SLA_WAITING_TIME) or group.annotations.get(
                SLA_WAITING_TIME_LEGACY, ""
            )
            waiting = seconds(written)
            waiting = self._default if waiting is None else waiting
            known = _NEVER if waiting is None else group.created + waiting
            self._deadlines[group.key] = known
        return known
