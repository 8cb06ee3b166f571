"""Allocatable and used amounts as int64 columns: one row per node, one column per resource.

There is a column for each resource that some node offers, and for no other, because pods may name
any resource. Requests of other resources are kept per row, so that the sum is right once a node
offers the resource. When no node offers a resource any more, its column is released.

Invariant: for each row, the column (or the entry in `_others`) of a resource is the sum of the
requests of its pods, in whatever order nodes and pods are added and removed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vc.model.values.resources import Resources

RESOURCES_MAX: Final = 256
"""The maximum number of resource names. Further ones are reported and left out."""
VECTORS_MAX: Final = 4_096
"""The maximum number of cached request vectors. When there are more, the cache is cleared."""
ALWAYS: Final = ("cpu", "memory", "pods")
"""Columns that exist even without nodes."""

_ROWS_FIRST: Final = 64
_COLUMNS_FIRST: Final = 8

Ints = NDArray[np.int64]
Request = tuple[tuple[str, int], ...]


class _Split(NamedTuple):
    """A request: the part with columns, and the rest."""

    vector: Ints
    others: Request


class AmountColumns:
    """Amounts by row. The caller assigns rows; a new row is zero."""

    def __init__(self) -> None:
        self.resources: dict[str, int] = {}
        """Resource name to column, in column order."""
        self.allocatable: Ints = np.zeros((_ROWS_FIRST, _COLUMNS_FIRST), dtype=np.int64)
        self.used: Ints = np.zeros((_ROWS_FIRST, _COLUMNS_FIRST), dtype=np.int64)
        self._offered: dict[int, dict[str, int]] = {}
        """The amounts that the node of a row offers."""
        self._offers: Counter[str] = Counter()
        """The number of nodes that offer a resource."""
        self._others: dict[int, Resources] = {}
        """By row: the requests of its pods for resources without a column."""
        self._vectors: dict[Request, _Split] = {}
        """By request, because many shapes have equal requests."""
        for name in ALWAYS:
            self._make(name)

    # -- what nodes offer ------------------------------------------------------------------------

    def offer(self, row: int, amounts: Mapping[str, int]) -> bool:
        """Set the amounts of a node, and return whether they changed."""
        self._make_row(row)
        before = self._offered.get(row, {})
        if before == amounts:
            return False
        self._offered[row] = dict(amounts)
        self._offers.update(amounts.keys() - before.keys())
        self._stop_offering(before.keys() - amounts.keys())
        # Sorted, so that columns are assigned in an order that does not depend on the manifest.
        for name in sorted(amounts):
            self._make(name)
        self._fill(row)
        return True

    def withdraw(self, row: int) -> None:
        """Remove a node; its pods may still exist."""
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
        """Add a column, unless it exists or there are too many."""
        if name in self.resources or len(self.resources) >= RESOURCES_MAX:
            return
        column = self.resources[name] = len(self.resources)
        if column >= self.used.shape[1]:
            self._grow(rows=self.used.shape[0], columns=2 * column)
        # Cached vectors have the old width, and requests without a column may now have one.
        self._vectors.clear()
        # Pods may have requested the resource before a node offered it.
        for row, others in list(self._others.items()):
            self.used[row, column] = others.pop(name, 0)
            if not others:
                del self._others[row]

    def _reclaim(self, name: str) -> None:
        """Release the column of a resource that no node offers. The last column moves to its
        position, and a resource that was left out gets the free one."""
        column, last = self.resources.pop(name), len(self.resources)
        # Pods may still request the resource, so their sums are kept outside of the columns.
        for row in np.flatnonzero(self.used[:, column]).tolist():
            self._others.setdefault(row, Resources())[name] = int(self.used[row, column])
        # Moving only the last column keeps the columns contiguous at the least cost.
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
            # The smallest name is chosen, so that the result does not depend on the order of events.
            self._make(min(waiting))
            for row in self._offered:
                self._fill(row)

    def _make_row(self, row: int) -> None:
        if row >= self.used.shape[0]:
            self._grow(rows=2 * row, columns=self.used.shape[1])

    def _grow(self, *, rows: int, columns: int) -> None:
        for name in ("allocatable", "used"):
            old: Ints = getattr(self, name)
            # Callers double the size, so that the total cost of growth stays linear.
            new = np.zeros((rows, columns), dtype=np.int64)
            new[: old.shape[0], : old.shape[1]] = old
            setattr(self, name, new)
        self._vectors.clear()

    # -- what pods use ---------------------------------------------------------------------------

    def add(self, row: int, request: Request) -> None:
        """Count a pod on a row."""
        self._make_row(row)
        split = self._split(request)
        self.used[row] += split.vector
        if split.others:
            self._others.setdefault(row, Resources()).add(split.others)

    def remove(self, row: int, request: Request) -> None:
        """Remove a pod from a row."""
        split = self._split(request)
        self.used[row] -= split.vector
        if split.others:
            others = self._others[row]
            others.add(split.others, times=-1)
            others.drop_zeros()
            if not others:
                del self._others[row]

    def clear(self, row: int) -> None:
        """Reset a row that is no longer used."""
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
