"""The nodes as one session sees them.

`StaticTable` has the input of predicates: names, labels, taints, readiness. All sessions share it
until a node changes in one of these. Masks and label columns are functions of the table, so they
are cached with it. `NodeTable` adds the amounts, which are copied for each session.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vc.model.api.node import Taint

MASKS_MAX: Final = 2_000
"""The maximum number of cached masks, one byte per node each. A full cache is cleared."""

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Filtered:
    """The nodes that passed all checks, and the number left after each check."""

    mask: Mask
    left: tuple[tuple[str, int], ...]

    @property
    def count(self) -> int:
        """The number of nodes that passed all checks."""
        return self.left[-1][1]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelColumn:
    """One label over all nodes, as codes; -1 if a node does not have it."""

    codes: Ints
    values: dict[str, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class StaticTable:
    """The properties of nodes that predicates read, ordered by node name."""

    names: tuple[str, ...]
    rows: Ints
    """Rows of the columns from which the table was created."""
    ready: Mask
    schedulable: Mask
    labels: tuple[dict[str, str], ...]
    taints: tuple[tuple[Taint, ...], ...]
    soft_taints: tuple[tuple[Taint, ...], ...]
    """PreferNoSchedule taints."""
    masks: dict[tuple[str, bytes], Filtered] = field(default_factory=dict)
    """By filter configuration and constraints key."""
    _columns: dict[str, LabelColumn] = field(default_factory=dict)
    _index: dict[str, int] = field(default_factory=dict)
    # A list, because the class is frozen and the value is computed on first use.
    _advised: list[bool] = field(default_factory=list)

    def keep(self, key: tuple[str, bytes], filtered: Filtered) -> Filtered:
        """Cache a mask. The cache is cleared as a whole, because another thread may be reading it."""
        if len(self.masks) >= MASKS_MAX:
            self.masks.clear()
        self.masks[key] = filtered
        return filtered

    @property
    def advised(self) -> bool:
        """Whether any node has a PreferNoSchedule taint."""
        if not self._advised:
            self._advised.append(any(self.soft_taints))
        return self._advised[0]

    def row(self, name: str) -> int | None:
        """The row of a node; None if it does not exist."""
        if not self._index:
            self._index.update({name: row for row, name in enumerate(self.names)})
        return self._index.get(name)

    def label(self, key: str) -> LabelColumn:
        """A label as a column, computed on first use."""
        column = self._columns.get(key)
        if column is None:
            values: dict[str, int] = {}
            # With codes, comparing a label with a value is one vectorized operation.
            codes = np.full(len(self.names), -1, dtype=np.int64)
            for row, labels in enumerate(self.labels):
                value = labels.get(key)
                if value is not None:
                    codes[row] = values.setdefault(value, len(values))
            column = self._columns[key] = LabelColumn(codes=codes, values=values)
        return column


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeTable:
    """Nodes with their amounts; rows are ordered by node name."""

    static: StaticTable
    resources: dict[str, int]
    """Resource name to column."""
    allocatable: Ints
    used: Ints

    @property
    def count(self) -> int:
        return len(self.static.names)
