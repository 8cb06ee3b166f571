"""pdb: nobody is evicted whose disruption budget is used up (behaviour.md 5.7).

The eviction API refuses such victims anyway; with this plugin others are chosen at once, and no job
waits for a victim that stays. Victims of one session count together. A pod without labels is nobody's
business here (upstream never evicts it).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from vc_model.selectors import SelectorError, selector_matches
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

    def lets_go(self, session: "Session", pods: Sequence[PodRow], others: Sequence[PodRow]) -> bool:
        gone = {pod.uid: pod for victims in session.evicted.values() for pod in victims}
        gone.update({pod.uid: pod for pod in (*others, *pods)})
        touched = {
            (budget.namespace, budget.name): budget
            for pod in pods
            for budget in self._covering(session, pod)
        }
        return all(
            sum(_covers(budget, pod) for pod in gone.values()) <= budget.allowed
            for budget in touched.values()
        )

    def _covering(self, session: "Session", pod: PodRow) -> list[BudgetRow]:
        if self._by_namespace is None:
            self._by_namespace = {}
            for budget in session.snapshot.budgets.values():
                self._by_namespace.setdefault(budget.namespace, []).append(budget)
        return [b for b in self._by_namespace.get(pod.namespace, []) if _covers(b, pod)]


def _covers(budget: BudgetRow, pod: PodRow) -> bool:
    try:
        return budget.namespace == pod.namespace and selector_matches(budget.selector, pod.labels)
    except SelectorError:
        return False  # a selector nobody can read protects nobody
