"""Amounts as columns: rows of nodes by resources in int64, what they have and what is used.

There is a column for each resource that some node offers, and for no other: pods may name whatever
they like. What pods on nodes ask for beyond is kept by row, so that a node that begins to offer it finds
the right sum; when no node offers a resource any more, its column is given back.

Invariant: for each row, column (or entry in `_others`) of a resource is the sum of what its pods ask for,
in whatever order nodes and pods come and go.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

RESOURCES_MAX: Final = 256
"""Different resource names that nodes offer; what is beyond is reported and left out."""
VECTORS_MAX: Final = 4_096
"""Requests whose vectors are kept; when there are more, they are made anew."""
ALWAYS: Final = ("cpu", "memory", "pods")
"""Columns that are there without a node."""

_ROWS_FIRST: Final = 64
_COLUMNS_FIRST: Final = 8

Ints = NDArray[np.int64]
Request = tuple[tuple[str, int], ...]


class _Split(NamedTuple):
    """A request: what has a column, and what has none."""

    vector: Ints
    others: Request


class AmountColumns:
    """Rows are the caller's; they begin with nothing."""

    def __init__(self) -> None:
        self.resources: dict[str, int] = {}
        """Resource name to column, in the order of columns."""
        self.allocatable: Ints = np.zeros((_ROWS_FIRST, _COLUMNS_FIRST), dtype=np.int64)
        self.used: Ints = np.zeros((_ROWS_FIRST, _COLUMNS_FIRST), dtype=np.int64)
        self._offered: dict[int, dict[str, int]] = {}
        """What the node of a row has."""
        self._offers: Counter[str] = Counter()
        """How many nodes offer a resource."""
        self._others: dict[int, dict[str, int]] = {}
        """By row, what its pods ask for of resources without a column."""
        self._vectors: dict[Request, _Split] = {}
        """By request: many shapes ask for the same."""
        for name in ALWAYS:
            self._make(name)

    # -- what nodes offer ------------------------------------------------------------------------

    def offer(self, row: int, amounts: Mapping[str, int]) -> bool:
        """What a node has from now on; whether that is new."""
        self._make_row(row)
        before = self._offered.get(row, {})
        if before == amounts:
            return False
        self._offered[row] = dict(amounts)
        self._offers.update(amounts.keys() - before.keys())
        self._stop_offering(before.keys() - amounts.keys())
        for name in sorted(amounts):
            self._make(name)
        self._fill(row)
        return True

    def withdraw(self, row: int) -> None:
        """There is no node any more; its pods may still be there."""
        before = self._offered.pop(row, {})
        self.allocatable[row] = 0
        self._stop_offering(before.keys())

    def left_out(self, row: int) -> list[str]:
        """Resources that the node offers and that have no column."""
        return sorted(self._offered.get(row, {}).keys() - self.resources.keys())

    def _fill(self, row: int) -> None:
        self.allocatable[row] = 0
        for name, amount in self._offered[row].items():
            column = self.resources.get(name)
            if column is not None:
                self.allocatable[row, column] = amount

    def _stop_offering(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            self._offers[name] -= 1
            if not self._offers[name]:
                del self._offers[name]
                if name in self.resources and name not in ALWAYS:
                    self._reclaim(name)

    # -- columns ---------------------------------------------------------------------------------

    def _make(self, name: str) -> None:
        """A column, unless it is there or there are too many."""
        if name in self.resources or len(self.resources) >= RESOURCES_MAX:
            return
        column = self.resources[name] = len(self.resources)
        if column >= self.used.shape[1]:
            self._grow(rows=self.used.shape[0], columns=2 * column)
        self._vectors.clear()
        for row, others in list(self._others.items()):
            self.used[row, column] = others.pop(name, 0)
            if not others:
                del self._others[row]

    def _reclaim(self, name: str) -> None:
        """Nobody offers it: the last column takes its place, and whoever was left out gets that one."""
        column, last = self.resources.pop(name), len(self.resources)
        for row in np.flatnonzero(self.used[:, column]).tolist():
            self._others.setdefault(row, {})[name] = int(self.used[row, column])
        if column != last:
            moved = next(other for other, at in self.resources.items() if at == last)
            self.resources[moved] = column
            self.resources = dict(sorted(self.resources.items(), key=lambda item: item[1]))
            self.used[:, column] = self.used[:, last]
            self.allocatable[:, column] = self.allocatable[:, last]
        self.used[:, last] = 0
        self.allocatable[:, last] = 0
        self._vectors.clear()
        waiting = self._offers.keys() - self.resources.keys()
        if waiting:
            self._make(min(waiting))
            for row in self._offered:
                self._fill(row)

    def _make_row(self, row: int) -> None:
        if row >= self.used.shape[0]:
            self._grow(rows=2 * row, columns=self.used.shape[1])

    def _grow(self, *, rows: int, columns: int) -> None:
        for name in ("allocatable", "used"):
            old: Ints = getattr(self, name)
            new = np.zeros((rows, columns), dtype=np.int64)
            new[: old.shape[0], : old.shape[1]] = old
            setattr(self, name, new)
        self._vectors.clear()

    # -- what pods use ---------------------------------------------------------------------------

    def add(self, row: int, request: Request) -> None:
        """A pod takes its room."""
        self._make_row(row)
        split = self._split(request)
        self.used[row] += split.vector
        for name, amount in split.others:
            others = self._others.setdefault(row, {})
            others[name] = others.get(name, 0) + amount

    def remove(self, row: int, request: Request) -> None:
        """A pod gives its room back."""
        split = self._split(request)
        self.used[row] -= split.vector
        for name, amount in split.others:
            others = self._others[row]
            others[name] -= amount
            if not others[name]:
                del others[name]
            if not others:
                del self._others[row]

    def clear(self, row: int) -> None:
        """A row that nobody has any more."""
        self.used[row] = 0
        self._others.pop(row, None)

    def _split(self, request: Request) -> _Split:
        split = self._vectors.get(request)
        if split is None:
            vector = np.zeros(self.used.shape[1], dtype=np.int64)
            others: list[tuple[str, int]] = []
            for name, amount in request:
                column = self.resources.get(name)
                if column is not None:
                    vector[column] = amount
                elif amount:
                    others.append((name, amount))
            if len(self._vectors) >= VECTORS_MAX:
                self._vectors.clear()
            split = self._vectors[request] = _Split(vector, tuple(others))
        return split
