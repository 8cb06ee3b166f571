"""Finds queues with invalid ancestors: a parent that does not exist, or a cycle of parents.

Such a queue is reported, and its jobs wait with a reason that names the parent. For all sums it
counts as a top-level queue, so that its resources are counted once. `root` need not exist: the
queue-controller creates it, and until then its children are top-level queues.
"""

from collections.abc import Mapping
from typing import Final

from vc.model.api.keys import ROOT_QUEUE

_NAME_MAX = 64
LEVELS_MAX: Final = 64
"""The maximum number of levels. Admission allows fewer; queues that bypassed it must not exhaust
the stack."""


def circular(parents: Mapping[str, str]) -> dict[str, None]:
    """The queues in a cycle, given the parent of each queue. Every queue is visited once."""
    found: dict[str, None] = {}
    done: dict[str, None] = {}
    for start in parents:
        walked: dict[str, None] = {}
        at = start
        while at in parents and at not in done and at not in walked:
            walked[at] = None
            at = parents[at]
        if at in walked:
            # Queues that lead into the cycle are not part of it.
            steps = list(walked)
            found.update(dict.fromkeys(steps[steps.index(at) :]))
        # Later walks stop at visited queues, so the total effort is linear.
        done.update(walked)
    return found


def at_the_top(parents: Mapping[str, str]) -> dict[str, None]:
    """Queues that count as top level although they name a parent: those in a cycle, and every
    `LEVELS_MAX`-th level of a longer chain. So the number of ancestors is bounded."""
    found = circular(parents)
    for name, depth in _depths(parents, found).items():
        if depth and depth % LEVELS_MAX == 0:
            found[name] = None
    return found


def _depths(parents: Mapping[str, str], circles: Mapping[str, None]) -> dict[str, int]:
    """The number of ancestors of each queue. Every queue is visited once."""
    depths: dict[str, int] = {}
    for start in parents:
        path: list[str] = []
        at = start
        while at in parents and at not in depths and at not in circles:
            path.append(at)
            at = parents[at]
        # A queue below a cycle is one level below the queue of the cycle, which counts as top level.
        above = depths.get(at, 0 if at in circles else -1)
        for name in reversed(path):
            above = depths[name] = above + 1
    return depths


def misplaced(parents: Mapping[str, str]) -> dict[str, str]:
    """The problem of each queue with an invalid parent."""
    found = {
        name: f"its parent {parent[:_NAME_MAX]!r} does not exist"
        for name, parent in parents.items()
        # The queue-controller creates `root`, so its absence is no problem.
        if parent and parent not in parents and parent != ROOT_QUEUE
    }
    circles = circular(parents)
    for name, depth in _depths(parents, circles).items():
        if depth >= LEVELS_MAX:
            found[name] = f"it lies {depth} levels below the top; {LEVELS_MAX - 1} are the most"
    # A cycle is the more specific problem, so it replaces the others.
    for name in circles:
        found[name] = f"its parent {parents[name][:_NAME_MAX]!r} is below it"
    return found
