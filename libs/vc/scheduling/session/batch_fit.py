"""Places k equal pods at once, with the result of placing them one by one.

One by one means: each pod is placed on the node with the best current score, ties are broken by
name, and the loop ends when no node has free capacity. Let `s(n, j)` be the score of node n for the
j-th pod placed on it:

- unused nodes are chosen in the order of their first score, so only the k best by `s(n, 0)`
  can ever be chosen;
- a later score of a node matters only when it falls below the score for which the node was chosen,
  so ordering all (n, j) by the running minimum of `s(n, 0…j)`, then by node, then by j, *is* the
  greedy order.

Both hold for every score, rising (binpack) or falling (spread). A property test compares the result
with the naive loop.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_CAPACITY: Final = -(2**62)
"""The key of a node without free capacity. It is far below every score and far above the least
int64, so that it stays there when scores are added or subtracted."""

SCORE_MAX: Final = 2**40
"""Scores are fixed-point integers below this bound, so that a score and a node fit into one int64 key."""

_DEEP_FIRST: Final = 4
"""The number of pods per node scored first; it is doubled until it suffices."""

ScoreRows = Callable[[Ints, int], Ints]
"""(node rows, maximum number of pods per node) → scores[rows, pods] of each next pod on each node."""


def capacity(idle: Ints, request: Ints) -> Ints:
    """The number of pods with this request that fit into each row of idle resources; never negative."""
    asked = np.flatnonzero(request)
    if not len(asked):
        # A pod without requests fits without limit, within what int64 keys allow.
        return np.full(len(idle), SCORE_MAX, dtype=np.int64)
    # Column by column: a pod requests few of the resources that nodes have, and columns without a
    # request would be a division by zero.
    fits: Ints = idle[:, asked[0]] // request[asked[0]]
    for column in asked[1:]:
        np.minimum(fits, idle[:, column] // request[column], out=fits)
    np.maximum(fits, 0, out=fits)
    return fits


def rank_keys(rows: Ints, scores: Ints, capacities: Ints, *, count: int) -> Ints:
    """One distinct integer per row that orders by score, then by name; NO_CAPACITY where no pod fits.

    `count` is the number of all nodes, so that keys of different calls can be compared.
    """
    # Rows are in the order of names, so of two equal scores the smaller row has the larger key.
    keys = scores * count + (count - 1 - rows)
    keys[capacities <= 0] = NO_CAPACITY
    return keys


def has_capacity(keys: Ints) -> Mask:
    """Whether keys, to which scores may have been added, belong to nodes with free capacity."""
    # Half of the value leaves a margin for the scores that were added or subtracted.
    return keys > NO_CAPACITY // 2


def place(count: int, *, capacities: Ints, keys: Ints, score_rows: ScoreRows) -> Ints:
    """The node of each of `count` pods, in greedy order. The caller has checked that all pods fit."""
    # One pod needs no order: keys contain the first score and the tie-break by name.
    if count == 1:
        return np.array([keys.argmax()], dtype=np.int64)
    rows = _best(keys, count)
    # Scoring every pod that a node could run is expensive with large nodes. Most gangs need only a
    # few pods per node, so a small depth is tried first.
    fitting = np.minimum(capacities[rows], count)
    deepest = int(fitting.max())
    deep = min(deepest, _DEEP_FIRST)
    while True:
        order = _greedy(count, score_rows(rows, deep), fitting)
        if deep >= deepest or not _cut_short(order, count=count, fitting=fitting, deep=deep):
            chosen: Ints = rows[order // deep]
            return chosen
        deep = min(deepest, 2 * deep)


def _greedy(count: int, scores: Ints, fitting: Ints) -> Ints:
    """Flat indices of the first `count` (node, pod) pairs in greedy order; fewer if there are too few."""
    deep = scores.shape[1]
    # The running minimum makes the scores of a node fall, so sorting all pairs keeps the pods of a
    # node in order; a rising score (binpack) stays at its first value.
    np.minimum.accumulate(scores, axis=1, out=scores)
    # Pods beyond the capacity of a node must sort last.
    scores[np.arange(deep) >= fitting[:, None]] = NO_CAPACITY
    usable = int(np.minimum(fitting, deep).sum())
    # The sort is stable, so equal scores keep the order of nodes.
    return np.argsort(-(scores.ravel() + 1), kind="stable")[: min(count, usable)]


def _cut_short(order: Ints, *, count: int, fitting: Ints, deep: int) -> bool:
    """Whether pods that were not scored could have been chosen, so that a larger depth is required.

    Such pods follow the last scored pod of their node. So only a node that is used to the full
    depth and has more capacity can be affected.
    """
    # All scored pods together are too few, so a larger depth must add some.
    if len(order) < count:
        return True
    last = order[order % deep == deep - 1] // deep
    return bool((fitting[last] > deep).any())


def _best(keys: Ints, count: int) -> Ints:
    """Rows of the `count` highest keys with free capacity, in row order."""
    # Partition instead of sort: only the set of the best rows matters here, not their order.
    if count < len(keys):
        rows = np.argpartition(keys, len(keys) - count)[-count:]
    else:
        rows = np.arange(len(keys))
    best: Ints = rows[has_capacity(keys[rows])]
    best.sort()
    return best
