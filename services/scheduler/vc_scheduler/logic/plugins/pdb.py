"""pdb: nobody is evicted whose disruption budget is used up (behaviour.md 5.7).

The eviction API refuses such victims anyway; with this plugin others are chosen at once, and no job
waits for a victim that stays. Victims of one session count together. A pod without labels is nobody's
business here (upstream never evicts it).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from vc_scheduler.logic.policies import BudgetRow
from vc_scheduler.logic.rows import PodRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class DisruptionBudgets:
    """Victims within what budgets allow."""

    name: ClassVar[str] = "pdb"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none
        self._by_namespace: dict[str, list[BudgetRow]] | None = None
        self._covering: dict[str, tuple[BudgetRow, ...]] = {}
        """By pod uid: the budgets that speak of it; selectors are matched once."""

    def tally(self, session: "Session") -> "BudgetTally":
        return BudgetTally(self, session)

    def covering(self, session: "Session", pod: PodRow) -> tuple[BudgetRow, ...]:
        """The budgets that speak of a pod."""
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


class BudgetTally:
    """How many pods of each budget go."""

    def __init__(self, budgets: DisruptionBudgets, session: "Session") -> None:
        self._budgets = budgets
        self._session = session
        self._gone: dict[tuple[str, str], int] = {}
        """By namespace and name of a budget."""
        for victims in session.evicted.values():
            self.take(victims)

    def has_room(self, pods: Sequence[PodRow]) -> bool:
        more: dict[tuple[str, str], int] = {}
        for pod in pods:
            for budget in self._budgets.covering(self._session, pod):
                at = (budget.namespace, budget.name)
                more[at] = more.get(at, 0) + 1
                if self._gone.get(at, 0) + more[at] > budget.allowed:
                    return False
        return True

    def take(self, pods: Sequence[PodRow]) -> None:
        for pod in pods:
            for budget in self._budgets.covering(self._session, pod):
                at = (budget.namespace, budget.name)
                self._gone[at] = self._gone.get(at, 0) + 1
