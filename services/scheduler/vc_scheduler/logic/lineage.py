"""Queues whose line upwards goes nowhere: a parent that is not there, or one that is below its child.

Such a queue is reported and its jobs wait with a reason that names the parent; for all sums it stands at
the top, so that what its pods have is counted once. `root` need not exist: the queue-controller makes it,
and who is below it is at the top until then.
"""

from collections.abc import Mapping
from typing import Final

from vc_model.keys import ROOT_QUEUE

_NAME_MAX = 64
LEVELS_MAX: Final = 64
"""Queues in one line upwards. Admission allows fewer; whoever has gone round it must not exhaust the stack."""


def circular(parents: Mapping[str, str]) -> dict[str, None]:
    """Queues that stand above themselves, given the parent of each; every queue is walked over once."""
    found: dict[str, None] = {}
    done: dict[str, None] = {}
    for start in parents:
        walked: dict[str, None] = {}
        at = start
        while at in parents and at not in done and at not in walked:
            walked[at] = None
            at = parents[at]
        if at in walked:
            steps = list(walked)
            found.update(dict.fromkeys(steps[steps.index(at) :]))
        done.update(walked)
    return found


def at_the_top(parents: Mapping[str, str]) -> dict[str, None]:
    """Queues that stand at the top although they name a parent: those in a circle, and where a line is longer
    than `LEVELS_MAX` each one so many levels below the last. So no line is longer, whatever is written."""
    found = circular(parents)
    for name, depth in _depths(parents, found).items():
        if depth and depth % LEVELS_MAX == 0:
            found[name] = None
    return found


def _depths(parents: Mapping[str, str], circles: Mapping[str, None]) -> dict[str, int]:
    """How many there are above each queue; every queue is walked over once."""
    depths: dict[str, int] = {}
    for start in parents:
        line: list[str] = []
        at = start
        while at in parents and at not in depths and at not in circles:
            line.append(at)
            at = parents[at]
        above = depths.get(at, 0 if at in circles else -1)
        for name in reversed(line):
            above = depths[name] = above + 1
    return depths


def misplaced(parents: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the parents of queues, by queue."""
    found = {
        name: f"its parent {parent[:_NAME_MAX]!r} does not exist"
        for name, parent in parents.items()
        if parent and parent not in parents and parent != ROOT_QUEUE
    }
    circles = circular(parents)
    for name, depth in _depths(parents, circles).items():
        if depth >= LEVELS_MAX:
            found[name] = f"it lies {depth} levels below the top; {LEVELS_MAX - 1} are the most"
    for name in circles:
        found[name] = f"its parent {parents[name][:_NAME_MAX]!r} is below it"
    return found
