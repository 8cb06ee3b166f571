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

NO_ROOM: Final = np.iinfo(np.int64).min
"""Below every score."""

SCORE_MAX: Final = 2**40
"""Scores are fixed-point integers below this, so that a score and a node fit one int64 key."""

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


def rank_keys(scores: Ints, capacities: Ints) -> Ints:
    """One distinct integer per node that orders by score, then by name; NO_ROOM where none fits."""
    count = len(scores)
    keys = scores * count + np.arange(count - 1, -1, -1, dtype=np.int64)
    keys[capacities <= 0] = NO_ROOM
    return keys


def placeable(capacities: Ints, wanted: int) -> int:
    """How many of `wanted` pods fit: the cheap no, one vector operation."""
    return min(wanted, int(np.minimum(capacities, wanted).sum()))


def place(count: int, *, capacities: Ints, keys: Ints, score_rows: ScoreRows) -> Ints:
    """The node of each of `count` pods, in greedy order. The caller has checked that they fit."""
    if count == 1:
        return np.array([keys.argmax()], dtype=np.int64)
    rows = _best(keys, count)
    room = np.minimum(capacities[rows], count)
    deep = int(room.max())
    scores = score_rows(rows, deep)
    np.minimum.accumulate(scores, axis=1, out=scores)
    scores[np.arange(deep) >= room[:, None]] = NO_ROOM
    order = np.argsort(-(scores.ravel() + 1), kind="stable")[:count]
    chosen: Ints = rows[order // deep]
    return chosen


def _best(keys: Ints, count: int) -> Ints:
    """Rows of the `count` highest keys that have room, in the order of rows."""
    if count < len(keys):
        rows = np.argpartition(keys, len(keys) - count)[-count:]
    else:
        rows = np.arange(len(keys))
    best: Ints = rows[keys[rows] != NO_ROOM]
    best.sort()
    return best
