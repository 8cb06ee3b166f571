"""resourcequota: enqueue no job whose pods a ResourceQuota would refuse (docs/behaviour.md 5.7).

Counted are the use that the quota reports, the minimums of enqueued jobs without pods, and the
job's minResources under the keys of quotas (`requests.cpu`, `limits.memory`, `count/pods`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vc.messages.sessions import Reason
from vc.model.values.resources import Resources
from vc.scheduling.cache.quotas_and_budgets import QuotaRow
from vc.scheduling.model.amounts import POD_UNITS
from vc.scheduling.model.rows import INQUEUE, GroupRow
from vc.scheduling.session import reasons

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

_REQUESTS: Final = "requests."
_POD_COUNTS: Final = ("pods", "count/pods")


class ResourceQuotas:
    """Refuses to enqueue groups that exceed a quota of their namespace."""

    name: ClassVar[str] = "resourcequota"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # the plugin has no arguments
        self._by_namespace: dict[str, list[QuotaRow]] | None = None
        self._claimed: dict[str, list[Resources]] = {}
        """By namespace: the enqueued amounts that count against each of its quotas, in their order.
        """
        self._counted: dict[str, None] = {}
        """Groups in these sums: enqueued in this session, or earlier and still without pods."""
        self._seen = 0
        """Number of groups enqueued in this session that are already counted."""

    def job_enqueueable_refusal(self, session: "Session", group: GroupRow) -> Reason | None:
        """Refuse a group whose minimum does not fit into a quota of its namespace."""
        quotas = self._quotas(session, group.namespace)
        for quota, claimed in zip(quotas, self._claimed.get(group.namespace, []), strict=True):
            needed = _needed(group, quota)
            # The group may be in the sums already; its own claim must not count against it.
            own = needed if group.key in self._counted else {}
            taken = Resources(quota.used) + claimed - own
            available = (Resources(quota.hard) - taken).only(needed)
            if not needed.fits_in(available):
                return reasons.over_quota(quota, needed, available)
        return None

    def _quotas(self, session: "Session", namespace: str) -> list[QuotaRow]:
        """Return the quotas of a namespace, with the counts brought up to date."""
        if self._by_namespace is None:
            self._by_namespace = {}
            for quota in session.snapshot.quotas.values():
                self._by_namespace.setdefault(quota.namespace, []).append(quota)
                self._claimed.setdefault(quota.namespace, []).append(Resources())
            for group in session.snapshot.all_groups.values():
                # Pods of groups that have some are in the quota's reported use. Groups without pods
                # are not.
                if group.status.phase == INQUEUE and not group.pods_total:
                    self._count(group)
        for key in session.decided.enqueued[self._seen :]:
            self._count(session.snapshot.all_groups[key])
        self._seen = len(session.decided.enqueued)
        return self._by_namespace.get(namespace, [])

    def _count(self, group: GroupRow) -> None:
        """Add the minimum of an enqueued group to the quotas of its namespace."""
        assert self._by_namespace is not None
        quotas = self._by_namespace.get(group.namespace, [])
        for quota, claimed in zip(quotas, self._claimed.get(group.namespace, []), strict=True):
            claimed.add(_needed(group, quota))
        self._counted[group.key] = None


def _needed(group: GroupRow, quota: QuotaRow) -> Resources:
    """Return what the group's minimum uses of each limit of a quota."""
    written = dict(group.quota_resources)
    needed = Resources()
    for name in quota.hard:
        amount = written.get(name, written.get(name.removeprefix(_REQUESTS), 0))
        if name in _POD_COUNTS:
            # minResources need not list pods, but the gang will create at least minMember of them.
            amount = max(amount, group.min_member * POD_UNITS)
        if amount:
            needed[name] = amount
    return needed
