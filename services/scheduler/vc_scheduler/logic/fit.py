"""Placing k equal pods at once, with the result of placing them one by one.

One by one means: each pod goes to the node with the best score as it is then, ties to the first by
name, until no node has room. With `s(n, j)` the score of node n for the j-th pod put on it:

- a node nobody used yet is taken in the order of its first score, so only the k best by `s(n, 0)`
  can ever be touched;
- a node's later scores matter only when they fall below what it was taken for, so ordering all
  (n, j) by the running minimum of `s(n, 0…j)`, then by node, then by j, *is* the greedy order.

Both need no assumption about the score, rising (binpack) or falling (spread). A property test holds
this against the naive loop.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_ROOM: Final = -(2**62)
"""Below every score, and so far below, and above the least integer, that it stays there when scores are
added to it or taken away."""

SCORE_MAX: Final = 2**40
"""Scores are fixed-point integers below this, so that a score and a node fit one int64 key."""

_DEEP_FIRST: Final = 4
"""Pods a node that are looked at first; doubled as long as that was not enough."""

ScoreRows = Callable[[Ints, int], Ints]
"""(node rows, pods a node at most) → scores[rows, pods]: of each next pod on each node."""


def capacity(idle: Ints, request: Ints) -> Ints:
    """How many pods of the request each row of idle resources takes; never negative."""
    asked = np.flatnonzero(request)
    if not len(asked):
        return np.full(len(idle), SCORE_MAX, dtype=np.int64)
    fits: Ints = idle[:, asked[0]] // request[asked[0]]
    for column in asked[1:]:
        np.minimum(fits, idle[:, column] // request[column], out=fits)
    np.maximum(fits, 0, out=fits)
    return fits


def rank_keys(rows: Ints, scores: Ints, capacities: Ints, *, count: int) -> Ints:
    """One distinct integer per row that orders by score, then by name; NO_ROOM where none fits.

    `count` is the number of all nodes, so that keys of different calls compare.
    """
    keys = scores * count + (count - 1 - rows)
    keys[capacities <= 0] = NO_ROOM
    return keys


def has_room(keys: Ints) -> Mask:
    """Where a key, to which scores may have been added, is one of a node with room."""
    return keys > NO_ROOM // 2


def place(count: int, *, capacities: Ints, keys: Ints, score_rows: ScoreRows) -> Ints:
    """The node of each of `count` pods, in greedy order. The caller has checked that they fit."""
    if count == 1:
        return np.array([keys.argmax()], dtype=np.int64)
    rows = _best(keys, count)
    room = np.minimum(capacities[rows], count)
    deepest = int(room.max())
    deep = min(deepest, _DEEP_FIRST)
    while True:
        order = _greedy(count, score_rows(rows, deep), room)
        if deep >= deepest or not _cut_short(order, count=count, room=room, deep=deep):
            chosen: Ints = rows[order // deep]
            return chosen
        deep = min(deepest, 2 * deep)


def _greedy(count: int, scores: Ints, room: Ints) -> Ints:
    """The first `count` of all (node, pod) in greedy order, as flat indices; fewer if too few."""
    deep = scores.shape[1]
    np.minimum.accumulate(scores, axis=1, out=scores)
    scores[np.arange(deep) >= room[:, None]] = NO_ROOM
    usable = int(np.minimum(room, deep).sum())
    return np.argsort(-(scores.ravel() + 1), kind="stable")[: min(count, usable)]


def _cut_short(order: Ints, *, count: int, room: Ints, deep: int) -> bool:
    """Whether pods that were not looked at could have been chosen: then look deeper.

    They come after the last pod looked at on their node, so only a node that is used to the full
    depth and has more room could have hidden any.
    """
    if len(order) < count:
        return True
    last = order[order % deep == deep - 1] // deep
    return bool((room[last] > deep).any())


def _best(keys: Ints, count: int) -> Ints:
    """Rows of the `count` highest keys that have room, in the order of rows."""
    if count < len(keys):
        rows = np.argpartition(keys, len(keys) - count)[-count:]
    else:
        rows = np.arange(len(keys))
    best: Ints = rows[has_room(keys[rows])]
    best.sort()
    return best
