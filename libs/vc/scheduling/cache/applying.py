"""Applies one change at a time. An unreadable object is treated as deleted, and reported.

Pods are an exception: their rows can always be created (`pods.py`), because their use of a node
must count.
"""

from collections.abc import Callable

import msgspec

from vc.messages.view import Change
from vc.model.api.pod import Pod
from vc.scheduling.cache.problems import ObjectProblems
from vc.scheduling.model.amounts import unreadable


def apply_contained(
    take: Callable[[Change], bool], change: Change, problems: ObjectProblems
) -> bool:
    """Apply a change, and return whether it can alter the result of a session. If treating the
    object as deleted also raises, the fault is in our code and propagates."""
    obj = change.after
    what = f"{change.kind.short} {change.key}"
    try:
        matters = take(change)
    except Exception as error:
        if obj is None or isinstance(obj, Pod):
            raise
        # This removes what was counted of the last readable version.
        take(msgspec.structs.replace(change, before=obj, after=None))
        problems.note(what, unreadable(error))
        return True
    if what in problems:
        problems.note(what, "")
    return matters
