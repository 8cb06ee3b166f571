"""sla: a job that has reached its maximum waiting time comes first (docs/behaviour.md 5.7).

Before that, jobs are ordered by deadline. After the deadline the job is enqueued regardless of
later tiers. It also keeps reservations for a part of its pods, unless gang rejects that (see
`enableJobPipelined`).

Argument: `sla-waiting-time`, the waiting time of jobs without the annotation; none by default.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vc.model.api.keys import SLA_WAITING_TIME, SLA_WAITING_TIME_LEGACY
from vc.scheduling.conf.arguments import seconds
from vc.scheduling.framework.job_points import ABSTAIN, PERMIT
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.rows import GroupRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

_NEVER: Final = float("inf")
"""The deadline of a job without a waiting time."""


class Sla:
    """Orders, enqueues and reserves by deadline."""

    name: ClassVar[str] = "sla"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._default = seconds(arguments.get(SLA_WAITING_TIME_LEGACY, ""))
        self._deadlines: dict[str, float] = {}

    def job_order_key(self, session: "Session", group: GroupRow) -> OrderKey:
        del session
        return (self._deadline(group),)

    def job_enqueueable_permit(self, session: "Session", group: GroupRow) -> bool:
        """Whether the deadline has passed; otherwise a wake-up is registered for it."""
        return self._is_up(session, group)

    def job_pipelined_vote(self, session: "Session", group: GroupRow, *, whole: bool) -> int:
        """Permit a reservation after the deadline, and abstain before it."""
        del whole
        return PERMIT if self._is_up(session, group) else ABSTAIN

    def _is_up(self, session: "Session", group: GroupRow) -> bool:
        """Whether the deadline has passed; registers a wake-up when it is still to come."""
        deadline = self._deadline(group)
        if deadline == _NEVER:
            return False
        if session.now < deadline:
            # No event marks the deadline, so without a wake-up the job could wait longer than agreed.
            session.wake(deadline)
            return False
        return True

    def _deadline(self, group: GroupRow) -> float:
        """Return the deadline: creation plus the waiting time of the annotation or the default."""
        known = self._deadlines.get(group.key)
        if known is None:
            written = group.annotations.get(SLA_WAITING_TIME) or group.annotations.get(
                SLA_WAITING_TIME_LEGACY, ""
            )
            waiting = seconds(written)
            # An unreadable annotation counts as none, and the default of the configuration applies.
            waiting = self._default if waiting is None else waiting
            known = _NEVER if waiting is None else group.created + waiting
            self._deadlines[group.key] = known
        return known
