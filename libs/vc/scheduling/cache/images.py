"""Which nodes have which images: columns of ids and sizes, updated one node at a time.

A session gets only images that a waiting pod of ours uses and some node has. The row of an image is
kept until a node adds or removes the image. So sessions share it, and session records do not repeat
it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import numpy as np

from vc.model.api.images import image_number
from vc.scheduling.model.node_table import Ints, StaticTable
from vc.scheduling.model.rows import PodRow, TaskStatus

_NONE: Final = 0
"""The id of no image, and of an unused cell of a row."""
_FIRST: Final = (64, 8)

MIN_BYTES: Final = 23 * 1024 * 1024
MAX_BYTES: Final = 1000 * 1024 * 1024
"""Fewer image bytes than the minimum score nothing; more than the maximum per container add nothing."""


class ImageRow(msgspec.Struct, frozen=True, eq=False):
    """The nodes that have one image."""

    at: Ints
    """Rows of these nodes in the node table, ascending."""
    sizes: Ints
    """The size of the image on each of them, in bytes."""


class ImageTableBuilder:
    """Images by row of the node columns, and the images that waiting pods use."""

    def __init__(self) -> None:
        self._ids: Ints = np.zeros(_FIRST, dtype=np.int64)
        self._sizes: Ints = np.zeros(_FIRST, dtype=np.int64)
        self._requested: dict[str, int] = {}
        """By image: the number of waiting pods that use it."""
        self._found: dict[str, tuple[Ints, Ints]] = {}
        """By image in use: rows of the columns, and the sizes there."""
        self._rows: dict[str, tuple[StaticTable, tuple[Ints, Ints], ImageRow]] = {}
        """The rows that the last session got, and what they were computed from."""

    # -- nodes -----------------------------------------------------------------------------------

    def put(self, row: int, packed: bytes) -> None:
        """Set the images of a node, packed as in `vc.model.api.images`; empty if the node is deleted."""
        # A node without images needs no cells.
        if not packed and row >= len(self._ids):
            return
        pairs = np.frombuffer(packed, dtype="<i8").reshape(-1, 2)
        if row >= len(self._ids) or len(pairs) > self._ids.shape[1]:
            self._grow(rows=row + 1, columns=len(pairs))
        ids, sizes = np.zeros_like(self._ids[row]), np.zeros_like(self._sizes[row])
        ids[: len(pairs)], sizes[: len(pairs)] = pairs[:, 0], pairs[:, 1]
        # Kubelets report images often without a change; cached rows must survive that.
        if np.array_equal(ids, self._ids[row]) and np.array_equal(sizes, self._sizes[row]):
            return
        self._forget(self._pairs(row) ^ set(map(tuple, pairs.tolist())))
        self._ids[row], self._sizes[row] = ids, sizes

    def _pairs(self, row: int) -> set[tuple[int, ...]]:
        return set(zip(self._ids[row].tolist(), self._sizes[row].tolist(), strict=True))

    def _forget(self, changed: Iterable[tuple[int, ...]]) -> None:
        numbers = {pair[0] for pair in changed}
        for image in [image for image in self._found if image_number(image) in numbers]:
            del self._found[image]

    def _grow(self, *, rows: int, columns: int) -> None:
        old = self._ids.shape
        form = (_enough(old[0], rows), _enough(old[1], columns))
        for name in ("_ids", "_sizes"):
            before: Ints = getattr(self, name)
            after = np.zeros(form, dtype=np.int64)
            after[: old[0], : old[1]] = before
            setattr(self, name, after)

    # -- pods ------------------------------------------------------------------------------------

    def replace(self, before: PodRow | None, after: PodRow | None) -> None:
        """Replace the images that a pod uses."""
        for pod, sign in ((before, -1), (after, 1)):
            if pod is not None and pod.ours and pod.status is TaskStatus.PENDING:
                for image in pod.shape.images:
                    count = self._requested.get(image, 0) + sign
                    if count:
                        self._requested[image] = count
                    else:
                        del self._requested[image]

    # -- for a session ---------------------------------------------------------------------------

    def table(self, nodes: StaticTable) -> dict[str, ImageRow]:
        """The images that are in use and on some node, sorted by id."""
        if not self._requested:
            return {}
        self._look_up([image for image in self._requested if image not in self._found])
        # Images that no waiting pod uses would otherwise accumulate.
        for image in [image for image in self._found if image not in self._requested]:
            del self._found[image]
        rows: dict[str, tuple[StaticTable, tuple[Ints, Ints], ImageRow]] = {}
        for image in sorted(self._found):
            found = self._found[image]
            if len(found[0]):
                rows[image] = (nodes, found, self._row(image, nodes, found))
        self._rows = rows
        return {image: row for image, (_, _, row) in rows.items()}

    def _look_up(self, images: list[str]) -> None:
        """Find all images in one pass over the columns."""
        if not images:
            return
        numbers = np.array([image_number(image) for image in images], dtype=np.int64)
        ids, width = self._ids.ravel(), self._ids.shape[1]
        # Sorting the hits by id makes the cells of each image adjacent, so two binary searches find them.
        at = np.flatnonzero(np.isin(ids, numbers[numbers != _NONE]))
        order = at[np.argsort(ids[at], kind="stable")]
        sorted_ids = ids[order]
        begins = np.searchsorted(sorted_ids, numbers, side="left")
        ends = np.searchsorted(sorted_ids, numbers, side="right")
        sizes = self._sizes.ravel()
        for image, begin, end in zip(images, begins.tolist(), ends.tolist(), strict=True):
            cells = order[begin:end]
            self._found[image] = (cells // width, sizes[cells])

    def _row(self, image: str, nodes: StaticTable, found: tuple[Ints, Ints]) -> ImageRow:
        """The row of an image in table order. An equal earlier row is reused, so that sessions
        share it."""
        before = self._rows.get(image)
        if before is not None and before[0] is nodes and before[1] is found:
            return before[2]
        places = np.full(len(self._ids), -1, dtype=np.int64)
        known = nodes.rows < len(places)
        places[nodes.rows[known]] = np.flatnonzero(known)
        at, sizes = places[found[0]], found[1]
        order = np.argsort(at, kind="stable")
        row = ImageRow(at[order], sizes[order])
        if before is not None and _same(before[2], row):
            return before[2]
        return row


def _same(one: ImageRow, other: ImageRow) -> bool:
    return np.array_equal(one.at, other.at) and np.array_equal(one.sizes, other.sizes)


def _enough(has: int, wanted: int) -> int:
    while has < wanted:
        has *= 2
    return has


def locality(
    images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable, *, points: int
) -> Ints | None:
    """0 to `points` per node: how much of the images of the containers it has; None if no node has
    any.

    As in kube-scheduler, an image counts with its size times the fraction of nodes that have it, so
    that the one node with a rare image does not attract every pod that uses it.
    """
    known = [there[image] for image in images if image in there]
    if not known:
        return None
    ready = max(1, int(nodes.ready.sum()))
    total = np.zeros(len(nodes.names), dtype=np.int64)
    for row in known:
        total[row.at] += row.sizes * int(nodes.ready[row.at].sum()) // ready
    # The thresholds are those of ImageLocality in kube-scheduler.
    most = MAX_BYTES * len(images)
    score: Ints = (np.clip(total, MIN_BYTES, most) - MIN_BYTES) * points // (most - MIN_BYTES)
    return score
