"""What some nodes have free of each resource, looked at once for all shapes that may go to them.

Many shapes ask about the same nodes in the same state: the most that a single node has free says no to
all that ask for more, and what they have free together is the same for all.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from vc_scheduler.logic.table import Filtered, Ints, Mask

VACANCIES_MAX: Final = 64
"""Kept at a time, each as large as the amounts of its nodes; when there are more, they are made anew."""


class Vacancy:
    """Free amounts over the rows of nodes, by the table's columns; what is added up is kept."""

    def __init__(self, free: Ints) -> None:
        self._columns: Ints = np.ascontiguousarray(free.T)
        self._totals: dict[int, int] = {}
        self._most: list[int] = self._columns.max(axis=1, initial=0).tolist()

    def takes_none(self, request: Ints) -> bool:
        """Whether no node has enough of everything: the cheap no. False says nothing."""
        return any(map(int.__gt__, request.tolist(), self._most))

    def most(self, column: int) -> int:
        """The most that a node has free."""
        return self._most[column]

    def total(self, column: int) -> int:
        """What all have free together; a Python integer, since int64 may not hold it."""
        known = self._totals.get(column)
        if known is None:
            known = self._totals[column] = sum(self._columns[column].tolist())
        return known

    def lacking(self, column: int, amount: int) -> int:
        """How many nodes have less free than that."""
        if amount > self._most[column]:
            return len(self._columns[column])
        return int(np.count_nonzero(self._columns[column] < amount))


class _Kept(NamedTuple):
    filtered: Filtered
    """Held on to, so that nobody else has its identity."""
    state: int
    vacancy: Vacancy


class Vacancies:
    """Vacancies by the nodes that passed the filters, of the latest state in which somebody asked."""

    def __init__(self, free: Callable[[Mask], Ints]) -> None:
        self._free = free
        self._known: dict[int, _Kept] = {}

    def of(self, filtered: Filtered, *, state: int = 0) -> Vacancy:
        """What these nodes have free in this state."""
        known = self._known.get(id(filtered))
        if known is None or known.state != state:
            if len(self._known) >= VACANCIES_MAX:
                self._known.clear()
            known = _Kept(filtered, state, Vacancy(self._free(filtered.mask)))
            self._known[id(filtered)] = known
        return known.vacancy
