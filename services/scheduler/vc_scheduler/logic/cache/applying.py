"""One change at a time: an object that cannot be read is taken for gone, and told of.

Pods never are: their rows can always be made (`pods.py`), because what they hold of a node must count.
"""

from collections.abc import Callable

import msgspec

from vc_messages.view import Change
from vc_model.pod import Pod
from vc_scheduler.logic.amounts import unreadable
from vc_scheduler.logic.cache.problems import ObjectProblems


def apply_contained(
    take: Callable[[Change], bool], change: Change, problems: ObjectProblems
) -> bool:
    """Whether it can alter the outcome of a session; what is raised by its end too is a fault of ours."""
    obj = change.after
    what = f"{change.kind.short} {change.key}"
    try:
        matters = take(change)
    except Exception as error:
        if obj is None or isinstance(obj, Pod):
            raise
        take(msgspec.structs.replace(change, before=obj, after=None))
        problems.note(what, unreadable(error))
        return True
    if what in problems:
        problems.note(what, "")
    return matters
