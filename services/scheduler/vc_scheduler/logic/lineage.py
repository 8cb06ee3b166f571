"""Queues whose line upwards goes nowhere: a parent that is not there, or one that is below its child.

Such a queue is reported and its jobs wait with a reason that names the parent; for all sums it stands at
the top, so that what its pods have is counted once. `root` need not exist: the queue-controller makes it,
and who is below it is at the top until then.
"""

from collections.abc import Mapping

from vc_model.keys import ROOT_QUEUE

_NAME_MAX = 64


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


def misplaced(parents: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the parents of queues, by queue."""
    found = {
        name: f"its parent {parent[:_NAME_MAX]!r} does not exist"
        for name, parent in parents.items()
        if parent and parent not in parents and parent != ROOT_QUEUE
    }
    for name in circular(parents):
        found[name] = f"its parent {parents[name][:_NAME_MAX]!r} is below it"
    return found
