"""resourcequota: no job is let in whose pods its namespace's quota would refuse (behaviour.md 5.7).

Counted are what the quota says is used, what other jobs were let in for and have no pods yet, and the
job's minResources with the keys of quotas (`requests.cpu`, `limits.memory`, `count/pods`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.amounts import POD_UNITS, Amounts
from vc_scheduler.logic.policies import QuotaRow
from vc_scheduler.logic.rows import INQUEUE, GroupRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

_REQUESTS: Final = "requests."
_POD_COUNTS: Final = ("pods", "count/pods")


class ResourceQuotas:
    """Quotas of the namespace hold enqueue back."""

    name: ClassVar[str] = "resourcequota"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none
        self._by_namespace: dict[str, list[QuotaRow]] | None = None
        self._promised: dict[str, list[GroupRow]] = {}
        """By namespace: groups that were let in before and have no pods yet."""

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        for quota in self._quotas(session, group.namespace):
            needed = _needed(group, quota)
            available: Amounts = {}
            for name in needed:
                taken = quota.used.get(name, 0) + self._pending(session, group, quota, name)
                available[name] = quota.hard[name] - taken
            if any(amount > available[name] for name, amount in needed.items()):
                return reasons.over_quota(quota, needed, available)
        return None

    def _quotas(self, session: "Session", namespace: str) -> list[QuotaRow]:
        if self._by_namespace is None:
            self._by_namespace = {}
            for quota in session.snapshot.quotas.values():
                self._by_namespace.setdefault(quota.namespace, []).append(quota)
            for group in session.snapshot.everybody.values():
                if group.status.phase == INQUEUE and not group.tasks:
                    self._promised.setdefault(group.namespace, []).append(group)
        return self._by_namespace.get(namespace, [])

    def _pending(self, session: "Session", group: GroupRow, quota: QuotaRow, name: str) -> int:
        everybody = session.snapshot.everybody
        now = [everybody[key] for key in session.enqueued if key in everybody]
        others = [*self._promised.get(group.namespace, []), *now]
        return sum(
            _needed(other, quota).get(name, 0)
            for other in others
            if other.namespace == group.namespace and other.key != group.key
        )


def _needed(group: GroupRow, quota: QuotaRow) -> Amounts:
    """What the group's minimum takes of each limit of a quota."""
    written = dict(group.quota_resources)
    needed: Amounts = {}
    for name in quota.hard:
        amount = written.get(name, written.get(name.removeprefix(_REQUESTS), 0))
        if name in _POD_COUNTS:
            amount = max(amount, group.min_member * POD_UNITS)
        if amount:
            needed[name] = amount
    return needed
