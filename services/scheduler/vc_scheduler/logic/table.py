"""The nodes as one session sees them.

`StaticTable` is what masks look at: names, labels, taints, readiness. It is shared by all sessions
until a node changes in one of these, and so are the masks and label columns computed from it: they
are functions of the table, kept beside it. `NodeTable` adds the amounts, copied for each session.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vc_model.node import Taint

MASKS_MAX: Final = 2_000
"""Masks kept beside a table, one byte a node each; when there are more, they are made anew."""

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Filtered:
    """The nodes that passed, and how many were left after each check."""

    mask: Mask
    left: tuple[tuple[str, int], ...]

    @property
    def count(self) -> int:
        """How many passed all checks."""
        return self.left[-1][1]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelColumn:
    """One label over all nodes, as codes; -1 where a node lacks it."""

    codes: Ints
    values: dict[str, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class StaticTable:
    """What keeps pods away from nodes, in the order of node names."""

    names: tuple[str, ...]
    rows: Ints
    """Rows of the columns this was made from."""
    ready: Mask
    schedulable: Mask
    labels: tuple[dict[str, str], ...]
    taints: tuple[tuple[Taint, ...], ...]
    soft_taints: tuple[tuple[Taint, ...], ...]
    """Those that only advise: PreferNoSchedule."""
    masks: dict[tuple[str, bytes], Filtered] = field(default_factory=dict)
    """By who filters and the constraints' key; functions of this table, kept beside it."""
    _columns: dict[str, LabelColumn] = field(default_factory=dict)
    _index: dict[str, int] = field(default_factory=dict)
    _advised: list[bool] = field(default_factory=list)

    def keep(self, key: tuple[str, bytes], filtered: Filtered) -> Filtered:
        """Remember a mask. Whole tables are forgotten at once: another thread may be reading."""
        if len(self.masks) >= MASKS_MAX:
            self.masks.clear()
        self.masks[key] = filtered
        return filtered

    @property
    def advised(self) -> bool:
        """Whether any node has a taint that only advises."""
        if not self._advised:
            self._advised.append(any(self.soft_taints))
        return self._advised[0]

    def row(self, name: str) -> int | None:
        """The row of a node; None when there is no such node."""
        if not self._index:
            self._index.update({name: row for row, name in enumerate(self.names)})
        return self._index.get(name)

    def label(self, key: str) -> LabelColumn:
        """A label as a column."""
        column = self._columns.get(key)
        if column is None:
            values: dict[str, int] = {}
            codes = np.full(len(self.names), -1, dtype=np.int64)
            for row, labels in enumerate(self.labels):
                value = labels.get(key)
                if value is not None:
                    codes[row] = values.setdefault(value, len(values))
            column = self._columns[key] = LabelColumn(codes=codes, values=values)
        return column


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeTable:
    """Nodes with their amounts; rows in the order of names."""

    static: StaticTable
    resources: dict[str, int]
    """Resource name to column."""
    allocatable: Ints
    used: Ints

    @property
    def count(self) -> int:
        return len(self.static.names)
