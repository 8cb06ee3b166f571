"""Groups that a session could not decide on: they wait with the reason until they change.

A session that one group broke was held without it (`cycle.py`). That the next one need not find it out again, the
group is remembered as it was then, by what a session looks at of it; another one is tried anew.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from vc_scheduler.logic.rows import GroupRow

SET_ASIDE_MAX: Final = 10_000
"""Groups remembered; of more, the oldest are tried again."""

_Sight = tuple[object, ...]


class SetAside:
    """By group; bounded by the groups that there are."""

    def __init__(self, mark_dirty: Callable[[str], None]) -> None:
        self._mark_dirty = mark_dirty
        self._why: dict[str, tuple[_Sight, str]] = {}

    def put(self, row: GroupRow, why: str) -> None:
        """No session can decide on a group as it is now."""
        self._why.pop(row.key, None)
        self._why[row.key] = (_sight(row), why)
        while len(self._why) > SET_ASIDE_MAX:
            oldest = next(iter(self._why))
            del self._why[oldest]
            self._mark_dirty(oldest)
        self._mark_dirty(row.key)

    def over(self, row: GroupRow) -> GroupRow:
        """The row with what is wrong with it; one that changed is in order until shown otherwise."""
        known = self._why.get(row.key)
        if known is None:
            return row
        if known[0] != _sight(row):
            del self._why[row.key]
            return row
        return msgspec.structs.replace(row, problem=row.problem or known[1])

    def __contains__(self, key: str) -> bool:
        return key in self._why

    def drop(self, key: str) -> None:
        """The group is gone."""
        self._why.pop(key, None)


def _sight(row: GroupRow) -> _Sight:
    """What a change of its spec or of its pods alters; our own status writes do not."""
    pods = tuple((pod.uid, pod.shape.key) for run in row.runs for pod in run.pods)
    return (row.uid, row.queue, row.min_member, row.role_minimums, row.min_resources, pods)
