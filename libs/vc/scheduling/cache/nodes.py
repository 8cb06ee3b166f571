"""Nodes as columns, updated one fact at a time; amounts are in `cache/amount_columns.py`.

A row belongs to a node *name*. Pods may be observed before their node, or outlive it. So a row
exists as long as the Node or a pod on it does, and the sums are right in any order of facts. Rows
are assigned as they are needed; the table of a session is sorted by name, because ties are broken
by name.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from vc.model.api.node import Node, Taint
from vc.scheduling.cache.amount_columns import RESOURCES_MAX, AmountColumns
from vc.scheduling.cache.images import ImageTableBuilder
from vc.scheduling.model.amounts import Problems, read_amounts
from vc.scheduling.model.node_table import NodeTable, StaticTable
from vc.scheduling.model.shapes import Shape

_REPELLING: Final = frozenset({"NoSchedule", "NoExecute"})
_ADVISING: Final = "PreferNoSchedule"

Ints = NDArray[np.int64]
Amount = Iterable[tuple[str, int]]


class _Facts(msgspec.Struct, frozen=True):
    """The properties of a Node apart from amounts. Equal facts change no mask."""

    ready: bool
    schedulable: bool
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    soft_taints: tuple[Taint, ...]


class NodeTableBuilder:
    """All nodes: allocatable and used amounts, and what predicates read."""

    def __init__(self) -> None:
        self.amounts = AmountColumns()
        self._rows: dict[str, int] = {}
        self._pods: dict[int, int] = {}
        """The number of pods on a row. A row without Node and pods is released."""
        self._facts: dict[int, _Facts] = {}
        """Facts of the rows with a valid Node."""
        self._free: list[int] = []
        self._static: StaticTable | None = None
        self.images = ImageTableBuilder()
        """Which nodes have which images. Images only affect scores, so a change neither invalidates
        masks nor opens a session."""

    # -- nodes -----------------------------------------------------------------------------------

    def put(self, node: Node) -> tuple[bool, str]:
        """Apply a node. Returns whether a relevant property changed, and the problem of the node."""
        problems = Problems()
        amounts = read_amounts(node.status.allocatable or node.status.capacity, problems)
        if not amounts:
            problems.add("no allocatable resources")
        # A node with a problem is not used at all, because the remaining amounts may be wrong.
        if str(problems):
            return self.drop(node.metadata.name), str(problems)
        row = self._row(node.metadata.name)
        changed = self.amounts.offer(row, amounts)
        for name in self.amounts.left_out(row):
            problems.add(f"{name[:64]}: more than {RESOURCES_MAX} resource names, left out")
        self.images.put(row, node.status.packed_images)
        facts = _facts_of(node)
        same = self._facts.get(row) == facts
        if not same:
            self._facts[row] = facts
            self._static = None
        return not same or changed, str(problems)

    def drop(self, name: str) -> bool:
        """The Node is deleted or invalid; its pods may still exist. Returns whether it was known."""
        row = self._rows.get(name)
        if row is None or row not in self._facts:
            return False
        del self._facts[row]
        self._static = None
        self.amounts.withdraw(row)
        self.images.put(row, b"")
        self._release(name, row)
        return True

    # -- pods on nodes ---------------------------------------------------------------------------

    def add_pod(self, name: str, shape: Shape) -> None:
        """Count a pod on its node."""
        row = self._row(name)
        self.amounts.add(row, shape.request)
        self._pods[row] = self._pods.get(row, 0) + 1

    def remove_pod(self, name: str, shape: Shape) -> None:
        """Remove a pod from its node."""
        row = self._rows[name]
        self.amounts.remove(row, shape.request)
        self._pods[row] -= 1
        self._release(name, row)

    def _row(self, name: str) -> int:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = self._free.pop() if self._free else len(self._rows)
        return row

    def _release(self, name: str, row: int) -> None:
        if row not in self._facts and not self._pods.get(row):
            self.amounts.clear(row)
            self._pods.pop(row, None)
            del self._rows[name]
            # Rows are reused, so that replaced nodes do not grow the columns.
            self._free.append(row)

    # -- for a session ---------------------------------------------------------------------------

    def table(self) -> NodeTable:
        """An immutable copy, sorted by name. The input of masks is shared until it changes."""
        if self._static is None:
            self._static = self._make_static()
        amounts = self.amounts
        # Indexing with an array copies, so later changes do not affect the session.
        rows, width = self._static.rows, len(amounts.resources)
        return NodeTable(
            static=self._static,
            resources=dict(amounts.resources),
            allocatable=amounts.allocatable[rows, :width],
            used=amounts.used[rows, :width],
        )

    def _make_static(self) -> StaticTable:
        named = sorted((name, row) for name, row in self._rows.items() if row in self._facts)
        facts = [self._facts[row] for _, row in named]
        return StaticTable(
            names=tuple(name for name, _ in named),
            rows=np.array([row for _, row in named], dtype=np.int64),
            ready=np.array([fact.ready for fact in facts], dtype=np.bool_),
            schedulable=np.array([fact.schedulable for fact in facts], dtype=np.bool_),
            labels=tuple(fact.labels for fact in facts),
            taints=tuple(fact.taints for fact in facts),
            soft_taints=tuple(fact.soft_taints for fact in facts),
        )


def _facts_of(node: Node) -> _Facts:
    return _Facts(
        ready=node.ready,
        schedulable=not node.spec.unschedulable,
        labels=node.metadata.labels,
        taints=tuple(taint for taint in node.spec.taints if taint.effect in _REPELLING),
        soft_taints=tuple(taint for taint in node.spec.taints if taint.effect == _ADVISING),
    )
