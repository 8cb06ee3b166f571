"""Free resources of a set of nodes, computed once for all shapes that are allowed on them.

Many shapes share the same nodes and the same state. The largest free amount of a single node
rejects all shapes that request more, and the total is the same for all of them.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from vc.scheduling.model.node_table import Filtered, Ints, Mask

NODE_SETS_MAX: Final = 64
"""The maximum number of cached sets of nodes. Each is as large as the amounts of its nodes; when
there are more, the cache is cleared."""


class FreeResources:
    """Free amounts of nodes, by column of the node table. Sums are cached."""

    def __init__(self, free: Ints) -> None:
        self._columns: Ints = np.ascontiguousarray(free.T)
        self._totals: dict[int, int] = {}
        self._most: list[int] = self._columns.max(axis=1, initial=0).tolist()

    def fits_none(self, request: Ints) -> bool:
        """Whether a single resource already rules out every node. False proves nothing."""
        return any(map(int.__gt__, request.tolist(), self._most))

    def most(self, column: int) -> int:
        """The largest free amount of a node."""
        return self._most[column]

    def total(self, column: int) -> int:
        """The sum over all nodes, as a Python integer because int64 may overflow."""
        known = self._totals.get(column)
        if known is None:
            known = self._totals[column] = sum(self._columns[column].tolist())
        return known

    def lacking(self, column: int, amount: int) -> int:
        """The number of nodes with less free than `amount`."""
        if amount > self._most[column]:
            return len(self._columns[column])
        return int(np.count_nonzero(self._columns[column] < amount))


class _CacheEntry(NamedTuple):
    filtered: Filtered
    """Kept alive so that its id is not reused."""
    state: int
    free_resources: FreeResources


class FreeResourcesCache:
    """Free resources by the nodes that passed the predicates, each in its last requested state."""

    def __init__(self, free: Callable[[Mask], Ints]) -> None:
        self._free = free
        self._known: dict[int, _CacheEntry] = {}

    def of(self, filtered: Filtered, *, state: int = 0) -> FreeResources:
        """The free resources of these nodes in this state."""
        known = self._known.get(id(filtered))
        if known is None or known.state != state:
            if len(self._known) >= NODE_SETS_MAX:
                self._known.clear()
            known = _CacheEntry(filtered, state, FreeResources(self._free(filtered.mask)))
            self._known[id(filtered)] = known
        return known.free_resources
