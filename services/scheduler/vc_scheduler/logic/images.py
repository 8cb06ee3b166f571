"""Which nodes have which images already: columns of ids and sizes, kept one node at a time.

A session is told only of images that a waiting pod of ours names and some node has. What is known of an
image is kept until a node gets or loses it, so that sessions share it and a record of one repeats nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import numpy as np

from vc_model.images import image_number
from vc_scheduler.logic.rows import PodRow, Task
from vc_scheduler.logic.table import Ints, StaticTable

_NONE: Final = 0
"""The id of no image, and of an unused place in a row."""
_FIRST: Final = (64, 8)

MIN_BYTES: Final = 23 * 1024 * 1024
MAX_BYTES: Final = 1000 * 1024 * 1024
"""Less than this of images that are there is worth nothing, more than this a container no more."""


class ImageRow(msgspec.Struct, frozen=True, eq=False):
    """Where one image is."""

    at: Ints
    """Rows of the nodes in the table that have it, rising."""
    sizes: Ints
    """What it takes there, in bytes."""


class ImageColumns:
    """Images by rows of the node columns, and which of them anybody asks for."""

    def __init__(self) -> None:
        self._ids: Ints = np.zeros(_FIRST, dtype=np.int64)
        self._sizes: Ints = np.zeros(_FIRST, dtype=np.int64)
        self._asked: dict[str, int] = {}
        """By image: how many waiting pods name it."""
        self._found: dict[str, tuple[Ints, Ints]] = {}
        """By image that is asked for: rows of the columns and sizes there."""
        self._told: dict[str, tuple[StaticTable, tuple[Ints, Ints], ImageRow]] = {}
        """What sessions were told last, and of what it was made."""

    # -- nodes -----------------------------------------------------------------------------------

    def put(self, row: int, packed: bytes) -> None:
        """A node has these images, as `vc_model.images` packs them; none when it is gone."""
        if not packed and row >= len(self._ids):
            return
        pairs = np.frombuffer(packed, dtype="<i8").reshape(-1, 2)
        if row >= len(self._ids) or len(pairs) > self._ids.shape[1]:
            self._grow(rows=row + 1, columns=len(pairs))
        ids, sizes = np.zeros_like(self._ids[row]), np.zeros_like(self._sizes[row])
        ids[: len(pairs)], sizes[: len(pairs)] = pairs[:, 0], pairs[:, 1]
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
        """Exchange what a pod asks for."""
        for pod, sign in ((before, -1), (after, 1)):
            if pod is not None and pod.ours and pod.status is Task.PENDING:
                for image in pod.shape.images:
                    count = self._asked.get(image, 0) + sign
                    if count:
                        self._asked[image] = count
                    else:
                        del self._asked[image]

    # -- for a session ---------------------------------------------------------------------------

    def table(self, nodes: StaticTable) -> dict[str, ImageRow]:
        """The images that are asked for and are somewhere, in the order of their ids."""
        if not self._asked:
            return {}
        self._look_up([image for image in self._asked if image not in self._found])
        for image in [image for image in self._found if image not in self._asked]:
            del self._found[image]
        told: dict[str, tuple[StaticTable, tuple[Ints, Ints], ImageRow]] = {}
        for image in sorted(self._found):
            found = self._found[image]
            if len(found[0]):
                told[image] = (nodes, found, self._row(image, nodes, found))
        self._told = told
        return {image: row for image, (_, _, row) in told.items()}

    def _look_up(self, images: list[str]) -> None:
        """Find all of them in one go over the columns."""
        if not images:
            return
        numbers = np.array([image_number(image) for image in images], dtype=np.int64)
        ids, width = self._ids.ravel(), self._ids.shape[1]
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
        """In the order of the table; the row told before while it says the same."""
        before = self._told.get(image)
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
    """0 to `points` per node: how much of what the containers need is there; None for nothing anywhere.

    As kube-scheduler scores it: an image counts with its size times the part of the nodes that have it, so
    that the one node with a rare image does not get every pod that names it.
    """
    known = [there[image] for image in images if image in there]
    if not known:
        return None
    ready = max(1, int(nodes.ready.sum()))
    total = np.zeros(len(nodes.names), dtype=np.int64)
    for row in known:
        total[row.at] += row.sizes * int(nodes.ready[row.at].sum()) // ready
    most = MAX_BYTES * len(images)
    score: Ints = (np.clip(total, MIN_BYTES, most) - MIN_BYTES) * points // (most - MIN_BYTES)
    return score
