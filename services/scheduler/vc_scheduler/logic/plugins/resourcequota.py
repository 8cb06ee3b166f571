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
        self._promised: dict[str, list[Amounts]] = {}
        """By namespace: what is promised of each of its quotas, in their order."""
        self._counted: dict[str, None] = {}
        """Groups in these sums: let in before and without pods yet, or let in now."""
        self._seen = 0
        """How many of those that this session let in are counted."""

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        quotas = self._quotas(session, group.namespace)
        for quota, promised in zip(quotas, self._promised.get(group.namespace, []), strict=True):
            needed = _needed(group, quota)
            own = needed if group.key in self._counted else {}
            available: Amounts = {}
            for name in needed:
                taken = quota.used.get(name, 0) + promised.get(name, 0) - own.get(name, 0)
                available[name] = quota.hard[name] - taken
            if any(amount > available[name] for name, amount in needed.items()):
                return reasons.over_quota(quota, needed, available)
        return None

    def _quotas(self, session: "Session", namespace: str) -> list[QuotaRow]:
        if self._by_namespace is None:
            self._by_namespace = {}
            for quota in session.snapshot.quotas.values():
                self._by_namespace.setdefault(quota.namespace, []).append(quota)
                self._promised.setdefault(quota.namespace, []).append({})
            for group in session.snapshot.everybody.values():
                if group.status.phase == INQUEUE and not group.tasks:
                    self._count(group)
        for key in session.enqueued[self._seen :]:
            self._count(session.snapshot.everybody[key])
        self._seen = len(session.enqueued)
        return self._by_namespace.get(namespace, [])

    def _count(self, group: GroupRow) -> None:
        """What it was let in for is promised."""
        assert self._by_namespace is not None
        quotas = self._by_namespace.get(group.namespace, [])
        for quota, promised in zip(quotas, self._promised.get(group.namespace, []), strict=True):
            for name, amount in _needed(group, quota).items():
                promised[name] = promised.get(name, 0) + amount
        self._counted[group.key] = None


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
