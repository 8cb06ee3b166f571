"""How many pods of each shape fit on each node, during one session.

Capacities and scores of the first pod are computed over all nodes once per shape. After that only
changed nodes are computed again, so a session with a thousand gangs of one shape does not process
all nodes a thousand times.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from vc.scheduling.cache.images import ImageRow
from vc.scheduling.framework.framework import Framework
from vc.scheduling.framework.node_points import NodeCandidates
from vc.scheduling.model.node_table import Filtered, Mask, NodeTable
from vc.scheduling.model.shapes import Shape
from vc.scheduling.session.batch_fit import (
    NO_CAPACITY,
    Ints,
    capacity,
    has_capacity,
    place,
    rank_keys,
)
from vc.scheduling.session.free_resources import FreeResources, FreeResourcesCache

_MANY: Final = 2**31
"""An upper bound above any number of pods that is requested."""


@dataclass(kw_only=True, eq=False)
class _ShapeCapacity:
    """The nodes as seen by one shape, up to date with the first `seen` entries of the change log."""

    shape: Shape
    request: Ints
    possible: bool
    """Whether the node table knows every requested resource."""
    filtered: Filtered
    capacities: Ints
    keys: Ints
    """Rank keys of the nodes for the next pod; see `batch_fit.rank_keys`."""
    seen: int
    total: int | None = None
    """The number of pods that fit on all nodes; None until it is needed."""

    def placeable(self, wanted: int) -> int:
        """The number of pods, at most `wanted`, that fit."""
        if self.total is None:
            self.total = together(self.capacities)
        return min(wanted, self.total)


class NodeCapacity:
    """The working copy of used resources, with capacities and scores per shape."""

    def __init__(
        self, nodes: NodeTable, framework: Framework, images: Mapping[str, ImageRow]
    ) -> None:
        self.nodes = nodes
        self.used: Ints = nodes.used.copy()
        self._framework = framework
        self._images = images
        self._image_scores: dict[tuple[str, ...], _Bonus | None] = {}
        """By container images: the score bonus of nodes that already have them."""
        self._by_shape: dict[bytes, _ShapeCapacity] = {}
        self._requests: dict[bytes, Ints] = {}
        self._free_resources = FreeResourcesCache(self.idle)
        self._log: list[Ints] = []
        """Rows that changed, oldest first."""
        self._states: list[int] = [0]
        """Ids of states, as a stack. Statements nest, so reverting the last change returns to the
        id before it."""
        self._states_made = 0

    @property
    def state(self) -> int:
        """The id of the current state. Within one session, equal ids mean equal node capacity."""
        return self._states[-1]

    def placeable(self, shape: Shape, wanted: int) -> int:
        """The number of pods of the shape, at most `wanted`, that fit now."""
        return self._of(shape).placeable(wanted)

    def place(self, shape: Shape, count: int) -> Ints | None:
        """Rows for `count` pods, or None if not all of them fit. Nothing is allocated."""
        known = self._of(shape)
        if known.placeable(count) < count:
            return None
        bonus = self._image_score(shape)
        return place(
            count,
            capacities=known.capacities,
            keys=known.keys if bonus is None else known.keys + bonus.keys,
            score_rows=_Scoring(self, known, bonus).scores,
        )

    def free_resources(self, filtered: Filtered) -> FreeResources:
        """Free resources of these nodes in the current state."""
        return self._free_resources.of(filtered, state=self.state)

    def fits(self, shape: Shape, rows: Ints) -> bool:
        """Whether pods of the shape fit on exactly these rows. A row may occur several times."""
        wanted = np.bincount(rows, minlength=self.nodes.count)
        return bool((wanted <= self._of(shape).capacities).all())

    def best(self, shape: Shape, mask: Mask, more: Ints | None = None) -> int | None:
        """The best row in the mask for the next pod; None if the pod fits on none.

        `more` is added to the scores. It is the part that depends on the pods already on a node.
        """
        known = self._of(shape).keys
        # Nodes outside the mask stay below every real key even after the bonuses are added.
        keys = np.where(mask, known, NO_CAPACITY)
        bonus = self._image_score(shape)
        if more is not None:
            keys += more * self.nodes.count
        if bonus is not None:
            keys += bonus.keys
        if not len(keys):
            return None
        row = int(keys.argmax())
        return row if has_capacity(keys[row]) else None

    def _image_score(self, shape: Shape) -> "_Bonus | None":
        if not self._images or not shape.images:
            return None
        asked = shape.images
        if asked not in self._image_scores:
            found = self._framework.nodes.image_node_order_scores(
                asked, self._images, self.nodes.static
            )
            known = None if found is None else _Bonus(found, found * self.nodes.count)
            self._image_scores[asked] = known
        return self._image_scores[asked]

    def take(self, shape: Shape, rows: Ints) -> None:
        """Allocate pods of the shape on these rows. A row may occur several times."""
        np.add.at(self.used, rows, self.request(shape))
        self._log.append(rows)
        # Ids are never used again, even for equal amounts. A result cached for an id that was
        # popped therefore cannot be taken for the result of another state.
        self._states_made += 1
        self._states.append(self._states_made)

    def give_back(self, shape: Shape, rows: Ints) -> None:
        """Revert the last `take` that was not reverted."""
        np.subtract.at(self.used, rows, self.request(shape))
        self._log.append(rows)
        self._states.pop()

    def remove_pods(self, shape: Shape, rows: Ints) -> None:
        """Remove pods of the shape from these rows for a simulation; `restore` or `take` restores them."""
        np.subtract.at(self.used, rows, self.request(shape))
        self._log.append(rows)
        # The capacity differs from every earlier state, so the state gets a new id.
        self._states_made += 1
        self._states.append(self._states_made)

    def restore(self, shape: Shape, rows: Ints) -> None:
        """Revert the last `remove`; nothing may have been allocated since."""
        np.add.at(self.used, rows, self.request(shape))
        self._log.append(rows)
        self._states.pop()

    def filtered(self, shape: Shape) -> Filtered:
        """The nodes that pass all predicates of the shape."""
        return self._framework.nodes.filtered(shape, self.nodes.static)

    def knows(self, shape: Shape) -> bool:
        """Whether the node table has every resource that the shape requests."""
        return all(name in self.nodes.resources for name, _ in shape.request)

    def request(self, shape: Shape) -> Ints:
        """The request of the shape as a vector over the resources of the node table."""
        request = self._requests.get(shape.key)
        if request is None:
            request = np.zeros(len(self.nodes.resources), dtype=np.int64)
            for name, amount in shape.request:
                # A resource that no node has needs no column: placement asks `knows` first.
                if name in self.nodes.resources:
                    request[self.nodes.resources[name]] = amount
            self._requests[shape.key] = request
        return request

    def _of(self, shape: Shape) -> _ShapeCapacity:
        known = self._by_shape.get(shape.key)
        if known is None:
            known = self._by_shape[shape.key] = self._make(shape)
        elif known.seen < len(self._log):
            self._refresh(known)
        return known

    def idle(self, mask: Mask) -> Ints:
        """Free resources of these nodes, one row per node."""
        idle: Ints = np.maximum(self.nodes.allocatable[mask] - self.used[mask], 0)
        return idle

    def _make(self, shape: Shape) -> _ShapeCapacity:
        count = self.nodes.count
        known = _ShapeCapacity(
            shape=shape,
            request=self.request(shape),
            possible=self.knows(shape),
            filtered=self.filtered(shape),
            capacities=np.zeros(count, dtype=np.int64),
            keys=np.full(count, NO_CAPACITY, dtype=np.int64),
            seen=len(self._log),
        )
        # The largest free amounts reject many shapes without a computation over all nodes.
        if known.possible and not self.free_resources(known.filtered).fits_none(known.request):
            self._compute(known, np.arange(count))
        return known

    def _refresh(self, known: _ShapeCapacity) -> None:
        changed = np.concatenate(self._log[known.seen :])
        known.seen = len(self._log)
        # Removing duplicates costs a pass over all nodes, which pays only for a long log.
        if len(changed) >= self.nodes.count:
            changed = np.flatnonzero(np.bincount(changed, minlength=self.nodes.count))
        self._compute(known, changed)

    def _compute(self, known: _ShapeCapacity, rows: Ints) -> None:
        if not known.possible:
            return
        known.total = None
        rows = rows[known.filtered.mask[rows]]
        idle = self.nodes.allocatable[rows] - self.used[rows]
        capacities = known.capacities[rows] = capacity(idle, known.request)
        # Reset first, because a node that had free capacity before may be full now.
        known.keys[rows] = NO_CAPACITY
        takes = capacities > 0
        if takes.any():  # full nodes are never chosen, so they need no score
            rows = rows[takes]
            scores = self.score(known, rows, deep=1)[:, 0]
            known.keys[rows] = rank_keys(rows, scores, capacities[takes], count=self.nodes.count)

    def score(self, known: _ShapeCapacity, rows: Ints, *, deep: int) -> Ints:
        """Scores of each next pod on each row, as an array [row, pod]."""
        return self._framework.nodes.batch_node_order_scores(
            NodeCandidates(
                shape=known.shape,
                request=known.request,
                rows=rows,
                nodes=self.nodes.static,
                allowed=known.filtered.mask,
                resources=self.nodes.resources,
                used=self.used[rows],
                allocatable=self.nodes.allocatable[rows],
                deep=deep,
            )
        )


def together(capacities: Ints) -> int:
    """The number of pods that fit on all nodes. Each node is capped so that the sum fits int64."""
    return int(np.minimum(capacities, _MANY).sum())


class _Bonus(NamedTuple):
    """A score bonus per node, and the same as a summand of rank keys."""

    scores: Ints
    keys: Ints


@dataclass(frozen=True, eq=False)
class _Scoring:
    """The score function of one shape for `batch_fit.place`."""

    node_capacity: NodeCapacity
    known: _ShapeCapacity
    bonus: "_Bonus | None"

    def scores(self, rows: Ints, deep: int) -> Ints:
        scores = self.node_capacity.score(self.known, rows, deep=deep)
        return scores if self.bonus is None else scores + self.bonus.scores[rows, None]
