"""overcommit: let in only what the cluster can hold soon (behaviour.md 5.7).

Soon includes what evictions could free for the job, so that a full cluster lets in those who may
preempt or reclaim.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.plugins.arguments import thousandths
from vc_scheduler.logic.recoverable import preemptable, reclaimable
from vc_scheduler.logic.rows import GroupRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

_FACTOR_DEFAULT: Final = 1200


class Overcommit:
    """A group is let in while the promised resources stay below total * factor - used."""

    name: ClassVar[str] = "overcommit"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._factor = thousandths(arguments, "overcommit-factor", _FACTOR_DEFAULT, least=1000)

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        needed = group.charged_minimum
        available: dict[str, int] = {}
        for name in needed:
            total, used = session.cluster_amounts(name)
            available[name] = total * self._factor // 1000 - used - session.promised_total(name)
        if all(amount <= available[name] for name, amount in needed.items()):
            return None
        for name, amount in preemptable(session, group).items():
            available[name] = available.get(name, 0) + amount
        for name, amount in reclaimable(session, group).items():
            available[name] = available.get(name, 0) + amount
        if all(amount <= available[name] for name, amount in needed.items()):
            return None
        return reasons.overcommitted(needed, available)
