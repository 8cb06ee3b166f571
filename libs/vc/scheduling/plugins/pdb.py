"""pdb: no pod is evicted whose disruption budget is used up (docs/behaviour.md 5.7).

The eviction API refuses such victims anyway. With this plugin other victims are chosen at once, and
no job waits for a victim that is not evicted. All victims of a session count together. A pod
without labels is not covered by this plugin (Volcano never evicts it).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from vc.scheduling.cache.quotas_and_budgets import BudgetRow
from vc.scheduling.model.rows import PodRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class DisruptionBudgets:
    """Limits victims to the disruptions that PodDisruptionBudgets allow."""

    name: ClassVar[str] = "pdb"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # the plugin has no arguments
        self._budgets = _Budgets()

    def victim_limit_counter(self, session: "Session") -> "BudgetCounter":
        """Return a counter that includes the victims of the session so far."""
        return BudgetCounter(self._budgets, session)


class _Budgets:
    """Which disruption budgets select a pod; shared by all counters of a session."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, list[BudgetRow]] | None = None
        self._covering: dict[str, tuple[BudgetRow, ...]] = {}
        """By pod uid: the budgets that select the pod. Selectors are matched once per pod."""

    def covering(self, session: "Session", pod: PodRow) -> tuple[BudgetRow, ...]:
        """Return the budgets that select a pod."""
        known = self._covering.get(pod.uid)
        if known is None:
            there = self._of_namespace(session, pod.namespace)
            known = self._covering[pod.uid] = tuple(b for b in there if b.covers(pod))
        return known

    def _of_namespace(self, session: "Session", namespace: str) -> list[BudgetRow]:
        if self._by_namespace is None:
            self._by_namespace = {}
            for budget in session.snapshot.budgets.values():
                self._by_namespace.setdefault(budget.namespace, []).append(budget)
        return self._by_namespace.get(namespace, [])


class BudgetCounter:
    """Number of victims per disruption budget."""

    def __init__(self, budgets: _Budgets, session: "Session") -> None:
        # Selectors are matched once per pod and session, not once per counter.
        self._budgets = budgets
        self._session = session
        self._gone: dict[tuple[str, str], int] = {}
        """Number of victims, by namespace and name of the budget."""
        for victims in session.decided.evicted.values():
            self.count(victims)

    def allows(self, pods: Sequence[PodRow]) -> bool:
        """Whether all these pods can be evicted in addition to the counted victims."""
        # The pods are one set of victims: they share their budgets and are refused together.
        more: dict[tuple[str, str], int] = {}
        for pod in pods:
            for budget in self._budgets.covering(self._session, pod):
                at = (budget.namespace, budget.name)
                more[at] = more.get(at, 0) + 1
                if self._gone.get(at, 0) + more[at] > budget.allowed:
                    return False
        return True

    def count(self, pods: Sequence[PodRow]) -> None:
        """Count these pods as victims."""
        for pod in pods:
            for budget in self._budgets.covering(self._session, pod):
                at = (budget.namespace, budget.name)
                self._gone[at] = self._gone.get(at, 0) + 1
