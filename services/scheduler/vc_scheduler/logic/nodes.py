"""Nodes as columns, kept up to date one fact at a time; amounts are in `cache/amount_columns.py`.

A row belongs to a node *name*. Pods may be seen before their node, or outlive it, so a row exists as
long as the Node or a pod on it does, and the sums are right in whatever order facts arrive. Rows are
handed out as they come; a table for a session lists them by name, because ties are broken by it.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from vc_model.node import Node, Taint
from vc_scheduler.logic.amounts import Problems, read_amounts
from vc_scheduler.logic.cache.amount_columns import RESOURCES_MAX, AmountColumns
from vc_scheduler.logic.images import ImageColumns
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.table import NodeTable, StaticTable

_REPELLING: Final = frozenset({"NoSchedule", "NoExecute"})
_ADVISING: Final = "PreferNoSchedule"

Ints = NDArray[np.int64]
Amount = Iterable[tuple[str, int]]


class _Facts(msgspec.Struct, frozen=True):
    """What a Node says apart from amounts; equal facts change no mask."""

    ready: bool
    schedulable: bool
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    soft_taints: tuple[Taint, ...]


class NodeColumns:
    """All nodes: what they have, what is used, and what keeps pods away."""

    def __init__(self) -> None:
        self.amounts = AmountColumns()
        self._rows: dict[str, int] = {}
        self._pods: dict[int, int] = {}
        """Pods on a row; a row without Node and pods is given back."""
        self._facts: dict[int, _Facts] = {}
        """Of rows that have a usable Node."""
        self._free: list[int] = []
        self._static: StaticTable | None = None
        self.images = ImageColumns()
        """Which nodes have which images; they only say where pods would rather be, so a change of
        them leaves the masks and wakes nobody."""

    # -- nodes -----------------------------------------------------------------------------------

    def put(self, node: Node) -> tuple[bool, str]:
        """Take a node in: whether anything changed that matters, and what is wrong with it."""
        problems = Problems()
        amounts = read_amounts(node.status.allocatable or node.status.capacity, problems)
        if not amounts:
            problems.add("no allocatable resources")
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
        """The Node is gone or unusable; its pods may still be there. Whether it was there."""
        row = self._rows.get(name)
        if row is None or row not in self._facts:
            return False
        del self._facts[row]
        self._static = None
        self.amounts.withdraw(row)
        self.images.put(row, b"")
        self._give_back(name, row)
        return True

    # -- pods on nodes ---------------------------------------------------------------------------

    def add_pod(self, name: str, shape: Shape) -> None:
        """A pod takes its room."""
        row = self._row(name)
        self.amounts.add(row, shape.request)
        self._pods[row] = self._pods.get(row, 0) + 1

    def remove_pod(self, name: str, shape: Shape) -> None:
        """A pod gives its room back."""
        row = self._rows[name]
        self.amounts.remove(row, shape.request)
        self._pods[row] -= 1
        self._give_back(name, row)

    def _row(self, name: str) -> int:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = self._free.pop() if self._free else len(self._rows)
        return row

    def _give_back(self, name: str, row: int) -> None:
        if row not in self._facts and not self._pods.get(row):
            self.amounts.clear(row)
            self._pods.pop(row, None)
            del self._rows[name]
            self._free.append(row)

    # -- for a session ---------------------------------------------------------------------------

    def table(self) -> NodeTable:
        """An immutable copy, by name. What masks look at is shared until it changes."""
        if self._static is None:
            self._static = self._make_static()
        amounts = self.amounts
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
