"""Resource quotas and disruption budgets.

Other components enforce them; the scheduler avoids violating them.

They are updated one fact at a time. A quota with scopes is left out: which pods it counts is
unknown when a job is to be enqueued.
"""

import msgspec

from vc.model.api.kubernetes import PodDisruptionBudget, ResourceQuota
from vc.model.api.selectors import LabelSelector, SelectorError, selector_matches
from vc.scheduling.model.amounts import Problems, read_amounts
from vc.scheduling.model.rows import PodRow


class QuotaRow(msgspec.Struct, frozen=True, kw_only=True):
    """A ResourceQuota of a namespace."""

    namespace: str
    name: str
    hard: dict[str, int]
    used: dict[str, int]


class BudgetRow(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the selected pods may be evicted now."""

    namespace: str
    name: str
    selector: LabelSelector | None
    allowed: int

    def covers(self, pod: PodRow) -> bool:
        """Whether it selects a pod. An invalid selector protects no pod."""
        try:
            return pod.namespace == self.namespace and selector_matches(self.selector, pod.labels)
        except SelectorError:
            return False


class QuotasAndBudgets:
    """Quotas and budgets by key."""

    def __init__(self) -> None:
        self._quotas: dict[str, QuotaRow] = {}
        self._budgets: dict[str, BudgetRow] = {}

    def put_quota(self, quota: ResourceQuota, *, gone: bool) -> tuple[str, bool]:
        """Apply a quota. Returns its problem, and whether more jobs may be enqueued now."""
        before = self._quotas.pop(quota.key, None)
        if gone or quota.spec.scopes or quota.spec.scope_selector:
            return "", before is not None
        problems = Problems()
        after = self._quotas[quota.key] = QuotaRow(
            namespace=quota.metadata.namespace,
            name=quota.metadata.name,
            hard=read_amounts(quota.spec.hard, problems),
            used=read_amounts(quota.status.used, Problems()),
        )
        return str(problems), before is None or _looser(before, after)

    def put_budget(self, budget: PodDisruptionBudget, *, gone: bool) -> bool:
        """Apply a budget, and return whether more pods may be evicted now."""
        before = self._budgets.pop(budget.key, None)
        if gone:
            return before is not None
        after = self._budgets[budget.key] = BudgetRow(
            namespace=budget.metadata.namespace,
            name=budget.metadata.name,
            selector=budget.spec.selector,
            allowed=max(0, budget.status.disruptions_allowed),
        )
        # A tighter budget cannot make an eviction possible, so it opens no session.
        return before is not None and (
            after.allowed > before.allowed or after.selector != before.selector
        )

    def budget(self, key: str) -> BudgetRow | None:
        return self._budgets.get(key)

    def quotas(self) -> dict[str, QuotaRow]:
        """A copy, sorted by key."""
        return dict(sorted(self._quotas.items()))

    def budgets(self) -> dict[str, BudgetRow]:
        """A copy, sorted by key."""
        return dict(sorted(self._budgets.items()))


def _looser(before: QuotaRow, after: QuotaRow) -> bool:
    """Whether any of its limits has more left than before."""
    return before.hard.keys() != after.hard.keys() or any(
        hard - after.used.get(name, 0) > before.hard[name] - before.used.get(name, 0)
        for name, hard in after.hard.items()
    )
